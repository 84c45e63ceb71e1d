//! Components that exceed the limits of an instance. They are the fixture `echo` with one more core module, written
//! here byte by byte, whose start function or size is the bomb.

use serde_json::json;

use super::*;
use crate::support::place::built;

/// Adds `module` to a component and instantiates it. Sections 1 and 2 of the component binary format are core modules
/// and core instances.
fn with_module(component: &[u8], module: &[u8]) -> Vec<u8> {
    let mut modules = 0;
    let mut at = 8;
    while at < component.len() {
        let (id, (size, start)) = (component[at], read_leb(component, at + 1));
        modules += u32::from(id == 1);
        at = start + size;
    }
    let mut bomb = component.to_vec();
    bomb.extend(section(1, module));
    // One instance: instantiate (0) the last module, with no arguments.
    bomb.extend(section(2, &[&[1, 0][..], &leb(modules as usize), &[0]].concat()));
    bomb
}

fn module(sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let header = [0, b'a', b's', b'm', 1, 0, 0, 0];
    let sections = sections.iter().flat_map(|(id, content)| section(*id, content));
    header.into_iter().chain(sections).collect()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &leb(content.len()), content].concat()
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// Reads a LEB128 number, and returns it with the offset of its end.
fn read_leb(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let (mut number, mut shift) = (0, 0);
    loop {
        number |= usize::from(bytes[at] & 0x7f) << shift;
        (shift, at) = (shift + 7, at + 1);
        if bytes[at - 1] & 0x80 == 0 {
            return (number, at);
        }
    }
}

/// Returns the sections of `functions` functions without parameters or results, all with this body; the first is
/// `start`.
fn functions(functions: usize, body: &[u8]) -> [(u8, Vec<u8>); 2] {
    let body = [&leb(body.len() + 1)[..], &[0], body].concat();
    let declared = leb(functions).into_iter().chain(std::iter::repeat_n(0, functions)).collect();
    let bodies = leb(functions).into_iter().chain(body.iter().copied().cycle().take(body.len() * functions));
    [(3, declared), (10, bodies.collect())]
}

/// One type: no parameters, no results.
const TYPES: [u8; 4] = [1, 0x60, 0, 0];

fn place(module: &[u8], limits: &str) -> Place {
    let place = Place::with(
        &format!("[gates.bomb]\nlimits = {{ {limits} }}\n[presets.bad]\ngates.bomb = {{}}\n"),
        &[],
    );
    place.write("gates/bomb.wasm", with_module(&built("echo"), module));
    place
}

fn refusal(module: &[u8]) -> String {
    let ran = place(module, "").run(&["presets", "check"]);
    assert_ne!(ran.code(), 0, "{}", ran.stdout());
    ran.stdout() + &ran.stderr()
}

#[test]
fn a_module_that_does_no_harm_changes_nothing() {
    let [declared, bodies] = functions(1, &[0x0b]);
    let harmless = module(&[(1, TYPES.to_vec()), declared, (8, vec![0]), bodies]);
    let mut client = Client::start(&place(&harmless, ""), "bad");
    assert_eq!(client.text("echo", json!({"text": "hello"})), "hello");
}

#[test]
fn tables_are_capped_all_together() {
    // loop  ref.null func  i32.const 1000  table.grow 0  i32.const -1  i32.ne  br_if 0  end  unreachable
    let body = [
        &[0x03, 0x40, 0xd0, 0x70, 0x41][..],
        &[0xe8, 0x07],
        &[0xfc, 0x0f, 0x00, 0x41, 0x7f, 0x47, 0x0d, 0x00, 0x0b, 0x00, 0x0b],
    ];
    let [declared, bodies] = functions(1, &body.concat());
    let tables = vec![1, 0x70, 0, 0];
    let bomb = module(&[(1, TYPES.to_vec()), declared, (4, tables), (8, vec![0]), bodies]);
    for (limits, most) in [("", 20_000), ("table_elements = 5000", 5_000)] {
        let ran = place(&bomb, limits).run(&["presets", "check"]);
        let output = ran.stdout() + &ran.stderr();
        let expected = format!("gate 'bomb' ran out of table elements: its limit is {most}");
        assert!(output.contains(&expected) && output.contains("raise limits.table_elements"), "{output}");
    }
}

#[test]
fn a_table_that_is_too_large_from_the_start_is_refused() {
    let tables = [&[1, 0x70, 0][..], &leb(10_000_000)].concat();
    let message = refusal(&module(&[(4, tables)]));
    assert!(message.contains("bomb.wasm") && message.contains("table"), "{message}");
}

#[test]
fn many_memories_are_refused() {
    let memories = [&[8][..], &[0, 1].repeat(8)].concat();
    let message = refusal(&module(&[(5, memories)]));
    assert!(message.contains("bomb.wasm") && message.contains("memories"), "{message}");
}

#[test]
fn memories_share_one_limit_from_the_start() {
    // 63.75 MiB, in addition to the memory of the fixture's own module.
    let memories = [&[1, 0][..], &leb(1_020)].concat();
    let message = refusal(&module(&[(5, memories)]));
    assert!(message.contains("gate 'bomb' ran out of memory: its limit is 64 MiB"), "{message}");
}

#[test]
fn a_start_function_that_never_ends_is_ended() {
    let [declared, bodies] = functions(1, &[0x03, 0x40, 0x0c, 0x00, 0x0b, 0x0b]);
    let message = refusal(&module(&[(1, TYPES.to_vec()), declared, (8, vec![0]), bodies]));
    assert!(message.contains("gate 'bomb' was stopped after 5 s"), "{message}");
}

#[test]
fn more_functions_than_any_gate_has_are_refused_unread() {
    let [declared, bodies] = functions(100_001, &[0x0b]);
    let message = refusal(&module(&[(1, TYPES.to_vec()), declared, bodies]));
    assert!(message.contains("functions; the limit is 100000"), "{message}");
}

#[test]
fn a_function_that_takes_the_compiler_minutes_is_refused() {
    // loop  local.get 0  local.get 1  i32.add  local.set 0  local.get 2  br_if 0  end
    let one = [0x03, 0x40, 0x20, 0x00, 0x20, 0x01, 0x6a, 0x21, 0x00, 0x20, 0x02, 0x0d, 0x00, 0x0b];
    let large = |loops: usize| {
        let code = [&[1, 10, 0x7f][..], &one.repeat(loops), &[0x0b]].concat();
        let bodies = [&[1][..], &leb(code.len()), &code].concat();
        module(&[(1, TYPES.to_vec()), (3, vec![1, 0]), (10, bodies)])
    };
    let started = Instant::now();
    let message = refusal(&large(20_000));
    assert!(
        message.contains("has a function of weight") && message.contains("the limit is 2000000"),
        "{message}"
    );
    let mut client = Client::start(&place(&large(900), ""), "bad");
    assert_eq!(client.text("echo", json!({"text": "hello"})), "hello");
    // Not asserted, because the machine may be shared.
    eprintln!(
        "one function was refused and another, just light enough, served after {:?}",
        started.elapsed()
    );
}

#[test]
fn many_functions_are_compiled_while_others_are_served() {
    let [declared, bodies] = functions(20_000, &[0x41, 0x00, 0x1a, 0x0b]);
    let bomb = module(&[(1, TYPES.to_vec()), declared, bodies]);
    let started = Instant::now();
    let mut client = Client::start(&place(&bomb, ""), "bad");
    assert_eq!(client.text("echo", json!({"text": "hello"})), "hello");
    // Not asserted, because the machine may be shared.
    eprintln!(
        "20,000 functions ({} KB) were compiled and served after {:?}",
        bomb.len() / 1000,
        started.elapsed()
    );
}
