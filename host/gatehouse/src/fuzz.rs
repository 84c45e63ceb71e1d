//! Fuzzing of `presets.toml`. It is a unit test, because cargo-fuzz needs a library.

use gatehouse_mutate::Target;

use crate::config::{Config, ConfigText, Env};

fn presets(input: &[u8]) {
    let content = String::from_utf8_lossy(input).into_owned();
    let _ = Config::parse(
        &ConfigText { file: Some("/nowhere/presets.toml".into()), content },
        &Env::from_pairs([]),
    );
}

#[test]
fn any_presets_are_read_or_refused() {
    const TARGET: Target = Target {
        name: "presets",
        seeds: &[
            include_bytes!("../../../presets.toml").as_slice(),
            b"[host]\ngates = [\"a\", \"built-in\"]\n[gates.x]\ngrants = [\"http\"]\ncomponent = \"x.wasm\"\n\
              [gates.x.limits]\nmemory = \"64 MiB\"\ncall = \"30 s\"\n[[gates.x.http]]\nhost = \"https://a.b:8443\"\n\
              methods = [\"GET\"]\n[servers.s]\ncommand = \"c\"\nargs = [\"${A:-b}\"]\n[presets.p]\nextends = [\"q\"]\n\
              [presets.p.gates.x]\ntop_k = 3\n[presets.q]\ngates.x = {}\n",
        ],
        words: &[
            "[presets.", "[gates.", "[servers.", "]\n", "extends = [", "= {}", "\"\"\"", "'", "${", "1_0", "-inf",
            "2026-01-01", "\\u0000", "\\U0001F600", "[[", "gates", "grants", "\"*\"", "a.b.c.d = ", "{ a = ", "limits",
        ],
        run: presets,
    };
    TARGET.test();
}
