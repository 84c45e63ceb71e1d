//! Makes packages of a built gatehouse. `cargo xtask dist` runs it after the build.
//!
//! The same binary and repository give the same bytes: entries are sorted and have one timestamp. It builds and
//! publishes nothing. Exit codes: 0 success, 1 failure, 2 wrong usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the output is for the user")]

mod binary;
mod entries;
mod formats;
mod manual;
mod options;
mod platform;
mod product;
mod third_party;

use std::{fs, process::ExitCode};

use anyhow::{Context, Result};

use crate::{options::Options, product::Product};

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\nusage: {}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gatehouse-packaging: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let product = Product::load(options)?;
    fs::create_dir_all(&options.out).with_context(|| format!("cannot create {}", options.out.display()))?;
    let mut sums = Vec::new();
    for format in formats::FORMATS.iter().filter(|format| options.wants(format.name)) {
        let files = (format.make)(&product).with_context(|| format!("format {}", format.name))?;
        for file in files {
            let path = options.out.join(&file.name);
            let folder = path.parent().context("file has no parent directory")?;
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, &file.bytes))
                .with_context(|| format!("cannot write {}", path.display()))?;
            println!("{:9} {}", format.name, path.display());
            sums.push(format!("{}  {}\n", entries::sha256_hex(&file.bytes), file.name));
        }
    }
    sums.sort_by(|a, b| a[64..].cmp(&b[64..]));
    let list = options.out.join("SHA256SUMS");
    fs::write(&list, sums.concat()).with_context(|| format!("cannot write {}", list.display()))
}
