//! The program itself, as a kernel or a person starts it.

use std::process::{Command, Stdio};

fn run(words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mgp-patterns"));
    let ran = command.args(words).stdin(Stdio::null()).output().expect("the program starts");
    let output = [ran.stdout, ran.stderr].concat();
    (ran.status.code(), String::from_utf8(output).expect("it writes UTF-8"))
}

#[test]
fn it_says_what_is_wrong_and_ends_with_the_codes_of_mgp() {
    for (words, code, expected) in [
        (&["--help"][..], 0, "coordination"),
        (&["nobody"], 1, "nobody"),
        (&["audit", "--retention", "tiered"], 1, "--keep-days"),
        (&["federation", "--instance", "a=http://example.com/mcp", "--key-env", "a=PATH"], 1, "https"),
        (&["federation", "--instance", "a=https://example.com/mcp", "--key-env", "a=NO_KEY"], 5, "NO_KEY"),
        // Nobody is there, and nobody asks for anything.
        (&["coordination"], 0, ""),
    ] {
        let (ended, said) = run(words);
        assert_eq!(ended, Some(code), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}
