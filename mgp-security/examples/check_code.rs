//! Scratch.
#![allow(clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::print_stdout)]
use std::io::BufRead;

use mgp_security::code_safety::{CodePolicy, scan};
use mgp_types::mgp::{CodeSafety, SafetyLevel};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let kind = args.iter().position(|a| a == "--kind").map(|i| args[i + 1].clone()).unwrap();
    let level = args.iter().position(|a| a == "--level").map_or("strict", |i| &args[i + 1]);
    let lang = kind.trim_end_matches("_code").to_owned();
    let policy = CodePolicy::new(&CodeSafety::new(SafetyLevel::read(level)).with_language(lang));
    for line in std::io::stdin().lock().lines() {
        let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let code = row["input"].as_str().unwrap();
        let (verdict, reason) = match scan(code, &policy) {
            Ok(_) => ("allow", String::new()),
            Err(e) => ("deny", format!("{:?}", e.violations)),
        };
        println!("{}", serde_json::json!({"id": row["id"], "verdict": verdict, "reason": reason}));
    }
}
