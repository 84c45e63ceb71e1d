//! Digests or extracts files, and says what it took: `cargo run --release -p gatehouse-text --example
//! compress -- [--query WORDS] [--budget TOKENS] [--show] FILE…`. A file that ends in `.json` is digested,
//! any other is extracted from.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for measuring, on a terminal")]

use std::time::Instant;

use gatehouse_core::ports::{Text, TokenCounter, text::Encoding};
use gatehouse_text::{Extractor, Tokens};

fn main() {
    let (mut query, mut budget, mut show) = (String::new(), 1_200, false);
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--query" => query = arguments.next().unwrap(),
            "--budget" => budget = arguments.next().unwrap().parse().unwrap(),
            "--show" => show = true,
            file => files.push(file.to_owned()),
        }
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        // The vocabulary and the model are loaded on first use, once in the life of a host.
        let _ = Extractor.extract(&"Some words. ".repeat(200), "words", 100);
        let turn = || {
            let begun = Instant::now();
            let done = if file.ends_with(".json") {
                Extractor.digest(&text, &query, budget).map(|d| (d.text, d.tokens_in, d.tokens_out))
            } else {
                Extractor.extract(&text, &query, budget).map(|e| (e.text, e.tokens_in, e.tokens_out))
            };
            (begun.elapsed(), done)
        };
        let mut times: Vec<_> = (0..9).map(|_| turn().0).collect();
        times.sort();
        let begun = Instant::now();
        let _ = Tokens.count(&text, Encoding::O200k);
        let counting = begun.elapsed();
        match turn().1 {
            Ok((out, before, after)) => {
                let less = 100.0 - 100.0 * f64::from(after) / f64::from(before.max(1));
                println!(
                    "{file}: {} bytes, {before} -> {after} tokens ({less:.1} % less), median {:?}, fastest {:?}, of it \
                     counting {counting:?}",
                    text.len(),
                    times[4],
                    times[0]
                );
                println!("{}", if show { out.as_str() } else { "" });
            }
            Err(fault) => println!("{file}: {fault}"),
        }
    }
}
