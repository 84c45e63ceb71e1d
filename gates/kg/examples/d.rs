#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
fn main() {
    let m = gate_kg::gate().describe("{}").ok().unwrap();
    print!("{m:#?}");
}
