//! Checks of listings: names, duplicates, hidden characters, and sizes of texts and schemas.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Map, Value};

use super::Listing;
use crate::{
    ExposedName, InvalidValue, Schema, ToolSpec,
    conversion::DocumentFormat,
    hidden_chars, icon,
    invalid::ensure,
    names,
    prompt::MAX_PROMPTS,
    resource::{MAX_TEMPLATES, UriTemplate},
    schema::SchemaSize,
    tool::{self, MAX_NAME_CHARS, NameError},
};

/// Maximum tools of a gate. More would overflow any client's context.
pub const MAX_TOOLS: usize = 512;

/// Maximum bytes of a text or schema.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

type NameCheck = fn(&str) -> Result<(), NameError>;
type TemplateCheck = fn(&UriTemplate) -> Result<(), InvalidValue>;

impl Listing {
    /// Removes hidden characters and counts them. Must run before [`Listing::check`], which refuses those that cannot
    /// be removed.
    pub fn clean(&mut self) {
        let own_count = hidden_chars::strip_text(&mut self.name)
            + hidden_chars::strip_text(&mut self.version)
            + hidden_chars::strip_text(&mut self.summary)
            + hidden_chars::strip_schema(Arc::make_mut(&mut self.params_schema));
        let mut removed = vec![(String::new(), own_count)];
        for tool in &mut self.tools {
            let tool = Arc::make_mut(tool);
            let count = hidden_chars::strip_text(&mut tool.description)
                + tool.title.as_mut().map_or(0, hidden_chars::strip_text)
                + hidden_chars::strip_schema(Arc::make_mut(&mut tool.input_schema))
                + tool
                    .output_schema
                    .as_mut()
                    .map_or(0, |schema| hidden_chars::strip_schema(Arc::make_mut(schema)))
                + tool.meta.as_mut().map_or(0, |meta| hidden_chars::strip_values(Arc::make_mut(meta)));
            removed.push((names::quoted(&tool.name, 64), count));
        }
        for template in &mut self.templates {
            let texts = [&mut template.title, &mut template.description, &mut template.mime_type];
            let count = hidden_chars::strip_text(&mut template.name)
                + texts.into_iter().flatten().map(hidden_chars::strip_text).sum::<usize>();
            removed.push((names::quoted(&template.uri_template, 64), count));
        }
        for prompt in &mut self.prompts {
            let texts = [&mut prompt.title, &mut prompt.description].into_iter().flatten();
            let arguments = prompt.arguments.iter_mut().filter_map(|argument| argument.description.as_mut());
            let count = texts.chain(arguments).map(hidden_chars::strip_text).sum();
            removed.push((names::quoted(&prompt.name, 64), count));
        }
        self.removed.extend(removed.into_iter().filter(|(_, count)| *count > 0));
    }

    /// Checks names, duplicates, sizes and schemas of a gate. Can take seconds, so call it on a thread for
    /// [checks](crate::checks).
    pub fn check(&self) -> Result<(), InvalidValue> {
        let count = self.tools.len();
        ensure!(count <= MAX_TOOLS, "lists {count} tools; the limit is {MAX_TOOLS}");
        let mut sizes = SchemaSize::default();
        let tools = self.tools.iter();
        let schemas = tools.flat_map(|tool| {
            let output = tool
                .output_schema
                .as_ref()
                .map(|schema| (format!("tool '{}': its output schema", tool.name), schema));
            [(format!("tool '{}': its input schema", tool.name), &tool.input_schema)]
                .into_iter()
                .chain(output)
        });
        for (what, schema) in [("params-schema".to_owned(), &self.params_schema)].into_iter().chain(schemas) {
            add_size(&mut sizes, Schema::measure(schema).map_err(|reason| format!("{what} {reason}"))?)?;
        }
        DocumentFormat::check_all(&self.formats)?;
        self.check_parts(|name| ExposedName::new(name).map(drop), UriTemplate::check)
    }

    /// Like [`Self::check`], for a server. Its names may be longer and of any characters, because [clients see them
    /// changed](crate::SourceId::exposed_name), and its schemas may be [unreadable in part](unreadable_part).
    pub fn check_server(&self) -> Result<(), InvalidValue> {
        self.check_parts(tool::check_server_name, UriTemplate::check_server)
    }

    fn check_parts(&self, check_name: NameCheck, check_template: TemplateCheck) -> Result<(), InvalidValue> {
        check_short_text("its name", &self.name)?;
        check_short_text("its version", &self.version)?;
        check_short_text("its summary", &self.summary)?;
        check_schema_text("params-schema", &self.params_schema)?;
        let mut seen = HashSet::new();
        for tool in &self.tools {
            check_name(&tool.name).map_err(|reason| format!("tool name {reason}"))?;
            let bad = |reason: InvalidValue| format!("tool '{}': {reason}", tool.name);
            ensure!(seen.insert(&*tool.name), "tool '{}': is listed twice", tool.name);
            check_short_text("its description", &tool.description).map_err(bad)?;
            check_short_text("its title", tool.title.as_deref().unwrap_or_default()).map_err(bad)?;
            if let Some(meta) = &tool.meta {
                check_short_text("its meta", &serde_json::to_string(meta).unwrap_or_default())
                    .map_err(bad)?;
            }
            icon::check_all(&tool.icons).map_err(|reason| format!("tool '{}' {reason}", tool.name))?;
            for (what, found) in
                [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())]
            {
                let Some(found) = found else { continue };
                let fits = what == "output" || found.get("type").is_some_and(|kind| kind == "object");
                ensure!(fits, "tool '{}': its {what} schema is not of type object", tool.name);
                check_schema_text(&format!("its {what} schema"), found).map_err(bad)?;
            }
        }
        self.check_templates(check_template)?;
        self.check_prompts(check_name)
    }

    fn check_templates(&self, check: TemplateCheck) -> Result<(), InvalidValue> {
        let count = self.templates.len();
        ensure!(count <= MAX_TEMPLATES, "has {count} templates; the limit is {MAX_TEMPLATES}");
        for template in &self.templates {
            let bad = |reason| format!("template '{}' {reason}", names::quoted(&template.uri_template, 128));
            check(template).map_err(bad)?;
            check_short_text("the name of a template", &template.name)?;
            for text in [&template.title, &template.description, &template.mime_type].into_iter().flatten() {
                check_short_text("the text of a template", text)?;
            }
        }
        Ok(())
    }

    fn check_prompts(&self, check_name: NameCheck) -> Result<(), InvalidValue> {
        let count = self.prompts.len();
        ensure!(count <= MAX_PROMPTS, "lists {count} prompts; the limit is {MAX_PROMPTS}");
        let mut seen = HashSet::new();
        for prompt in &self.prompts {
            check_name(&prompt.name).map_err(|reason| format!("prompt name {reason}"))?;
            let bad = |reason: InvalidValue| format!("prompt '{}' {reason}", prompt.name);
            ensure!(seen.insert(&*prompt.name), "prompt '{}' is listed twice", prompt.name);
            prompt.check().map_err(bad)?;
            let texts = [&prompt.title, &prompt.description].into_iter().flatten();
            for text in
                texts.chain(prompt.arguments.iter().filter_map(|argument| argument.description.as_ref()))
            {
                check_short_text("the text of a prompt", text)?;
            }
        }
        Ok(())
    }
}

fn check_short_text(what: &str, text: &str) -> Result<(), InvalidValue> {
    ensure!(text.len() <= MAX_TEXT_BYTES, "{what} is longer than {MAX_TEXT_BYTES} bytes");
    Ok(())
}

/// Maximum number of schemas, subschemas included, in all schemas of a source.
const MAX_SCHEMAS: usize = 200_000;

/// Maximum bytes of compiled patterns in all schemas of a source.
const MAX_PATTERN_BYTES: usize = 16 << 20;

/// Adds the size of a schema to a source's total. Fails if the total exceeds the limits.
fn add_size(all: &mut SchemaSize, one: SchemaSize) -> Result<(), InvalidValue> {
    all.schemas += one.schemas;
    all.pattern_bytes += one.pattern_bytes;
    let (schemas, bytes) = (all.schemas, all.pattern_bytes);
    ensure!(schemas <= MAX_SCHEMAS, "has more than {MAX_SCHEMAS} schemas in total, subschemas included");
    let fits = bytes <= MAX_PATTERN_BYTES;
    ensure!(fits, "has patterns that compile to more than {MAX_PATTERN_BYTES} bytes in total");
    Ok(())
}

fn check_schema_text(what: &str, schema: &Map<String, Value>) -> Result<(), InvalidValue> {
    // Clients that read these two drop the whole list if their types are wrong.
    let is_map = schema.get("properties").is_none_or(Value::is_object);
    ensure!(is_map, "{what} has `properties` that are not an object");
    let is_list = schema
        .get("required")
        .is_none_or(|names| names.as_array().is_some_and(|names| names.iter().all(Value::is_string)));
    ensure!(is_list, "{what} has a `required` that is not a list of names");
    check_short_text(what, &serde_json::to_string(schema).unwrap_or_default())?;
    if let Some(place) = hidden_chars::find_in_schema(schema) {
        return Err(format!(
            "{what} has hidden characters in '{}'",
            place.escape_unicode().take(200).collect::<String>()
        )
        .into());
    }
    Ok(())
}

/// Returns the reason that a schema of a server's tool is checked only in part, as a clause.
pub fn unreadable_part(tool: &ToolSpec) -> Option<String> {
    let schemas = [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())];
    schemas.into_iter().find_map(|(kind, schema)| {
        let reason = Schema::unreadable_part(schema?)?;
        Some(format!("tool '{}': its {kind} schema {reason}", names::quoted(&tool.name, MAX_NAME_CHARS)))
    })
}

#[cfg(test)]
mod tests;
