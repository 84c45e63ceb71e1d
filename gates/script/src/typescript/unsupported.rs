//! What a script cannot have, and what to write instead.

pub(super) const NAMESPACE: &str = "A script has no namespaces; write an object instead: const Name = { … }.";
pub(super) const DECORATOR: &str = "A script has no decorators; call the function on what it decorates.";
pub(super) const ACCESSOR: &str = "A script has no `accessor` fields; write a plain field, or get and set.";
pub(super) const IMPORT: &str =
    "A script imports nothing: what there is are JavaScript's own objects, `tools` and `callMCPTool`.";
pub(super) const EXPORT: &str =
    "A script exports nothing: remove `export`, and give the value back with `return`.";
pub(super) const ASSERTION: &str =
    "A type in <> over several lines cannot be read here; write `value as Type`.";
pub(super) const SUPER: &str = "A constructor with parameter properties must call super(…) as a statement of its own before anything else.";
pub(super) const REQUIRE: &str =
    "A script has no `import x = …`; what there is are JavaScript's own objects and `tools`.";

/// What the parser says, in words for those who wrote a script.
pub(super) fn explain(message: String) -> String {
    message.replace("Cannot use export statement outside a module", EXPORT)
}
