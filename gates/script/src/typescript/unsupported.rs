//! Messages for unsupported syntax, with alternatives.

pub(super) const NAMESPACE: &str =
    "scripts do not support namespaces; write an object instead: const Name = { … }";
pub(super) const DECORATOR: &str =
    "scripts do not support decorators; call the function on the decorated value";
pub(super) const ACCESSOR: &str =
    "scripts do not support `accessor` fields; write a plain field, or get and set";
pub(super) const LARGE_INTEGER: &str = "integers beyond 2^53 are BigInts; write `n` at its end";
pub(super) const IMPORT: &str =
    "scripts cannot import; they have JavaScript's built-in objects, `tools` and `callMCPTool`";
pub(super) const EXPORT: &str = "scripts cannot export; remove `export`, and return the value with `return`";
pub(super) const ASSERTION: &str =
    "scripts do not support a type in <> over several lines; write `value as Type`";
pub(super) const SUPER: &str =
    "a constructor with parameter properties must call super(…) as its first statement";
pub(super) const REQUIRE: &str =
    "scripts do not support `import x = …`; they have JavaScript's built-in objects and `tools`";

pub(super) fn explain(message: String) -> String {
    message.replace("Cannot use export statement outside a module", EXPORT)
}
