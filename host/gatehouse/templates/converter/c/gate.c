// Exports that the host calls, as the contract defines them. The conversion is in cards.c.
//
// `gatehouse gates build` generates project.h and project.c from wit/: types and functions of the contract, with WIT
// names in snake case. The generated code frees returned values, so they must be on the heap.

#include <stdio.h>
#include <stdlib.h>

#include "cards.h"
#include "project.h"

static project_string_t string(const char *words) {
    project_string_t copy;
    project_string_dup(&copy, words);
    return copy;
}

static exports_gatehouse_gate_convert_fault_t fault(gatehouse_gate_types_fault_kind_t kind, const char *message) {
    return (exports_gatehouse_gate_convert_fault_t){.kind = kind, .message = string(message)};
}

bool exports_gatehouse_gate_convert_formats(exports_gatehouse_gate_convert_list_format_t *formats,
                                            exports_gatehouse_gate_convert_fault_t *failed) {
    (void)failed;
    project_string_t *endings = malloc(sizeof *endings);
    *endings = string("card");
    formats->ptr = malloc(sizeof *formats->ptr);
    formats->len = 1;
    *formats->ptr = (exports_gatehouse_gate_convert_format_t){
        .name = string("recipe card"), .endings = {endings, 1}, .media_type = string("text/x-recipe-card")};
    return true;
}

bool exports_gatehouse_gate_convert_convert(project_list_u8_t *file, project_string_t *name,
                                            project_string_t *media_type,
                                            exports_gatehouse_gate_convert_markdown_t *markdown,
                                            exports_gatehouse_gate_convert_fault_t *failed) {
    (void)name, (void)media_type;
    struct text text = {0};
    int unknown;
    if (!convert_card((const char *)file->ptr, file->len, &text, &unknown)) {
        *failed = fault(GATEHOUSE_GATE_TYPES_FAULT_KIND_INVALID_ARGUMENTS,
                        "is not a recipe card: it does not begin with @title");
        return false;
    }
    *markdown = (exports_gatehouse_gate_convert_markdown_t){.text = {(uint8_t *)text.ptr, text.len}};
    if (unknown > 0) {
        char remark[80];
        snprintf(remark, sizeof remark, "has %d lines of an unknown kind, which are left out", unknown);
        markdown->losses.ptr = malloc(sizeof *markdown->losses.ptr);
        markdown->losses.len = 1;
        *markdown->losses.ptr = string(remark);
    }
    return true;
}

bool exports_gatehouse_gate_tools_describe(exports_gatehouse_gate_tools_json_t *params,
                                           exports_gatehouse_gate_tools_manifest_t *manifest,
                                           exports_gatehouse_gate_tools_fault_t *failed) {
    (void)params, (void)failed;
    *manifest = (exports_gatehouse_gate_tools_manifest_t){
        .name = string("{{name}}"),
        .version = string("0.1.0"),
        .summary = string("Converts recipe cards to Markdown."),
        .params_schema = string("{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {}}"),
    };
    return true;
}

bool exports_gatehouse_gate_tools_call(exports_gatehouse_gate_tools_tool_call_t *call,
                                       exports_gatehouse_gate_tools_reply_t *reply,
                                       exports_gatehouse_gate_tools_fault_t *failed) {
    (void)call, (void)reply;
    *failed = fault(GATEHOUSE_GATE_TYPES_FAULT_KIND_NOT_FOUND, "This gate has no such tool.");
    return false;
}
