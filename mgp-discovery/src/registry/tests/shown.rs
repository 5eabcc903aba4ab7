//! Tests of the command line and the text that people are shown.

use crate::registry::{LaunchMethod, visible};

fn line(command: &str, args: &[&str]) -> String {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    LaunchMethod::Program { command: command.into(), args, env: Vec::new() }.line()
}

#[test]
fn the_whole_line_is_shown_and_its_words_are_told_apart() {
    assert_eq!(line("python3", &["-u", "/srv/a.py"]), "python3 -u /srv/a.py");
    assert_eq!(line("awk", &["BEGIN{system(\"id\")}"]), "awk 'BEGIN{system(\"id\")}'");
    assert_eq!(line("sh", &["-c", "echo 'a' b", ""]), r"sh -c 'echo '\''a'\'' b' ''");
    let long = "x".repeat(5000);
    assert!(line("a", &[&long]).ends_with(&long));
}

#[test]
fn what_hides_is_spelled_out() {
    assert_eq!(line("a", &["b\u{202e}c\u{1b}[2K\n"]), r"a 'b\u{202e}c\u{1b}[2K\u{a}'");
    assert_eq!(line("a", &["Grüße"]), "a 'Grüße'");
    assert_eq!(visible("a\u{a0}b\u{3164}"), "a\\u{a0}b\u{3164}");
}
