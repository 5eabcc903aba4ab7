use serde_json::Value;

use crate::home::Home;

/// Every command, as the words that lead to it.
fn commands(home: &Home, words: &[String], found: &mut Vec<Vec<String>>) {
    let help = home.run(words.iter().cloned().chain(["--help".to_owned()]));
    assert_eq!(help.code, Some(0), "{words:?}: {help:?}");
    for line in help.out.lines() {
        assert!(line.chars().count() <= 100, "{words:?}: {line}");
    }
    found.push(words.to_vec());
    for name in listed(words, &help.out) {
        commands(home, &[words, &[name]].concat(), found);
    }
}

/// The commands that a help lists: `mgp` itself lists groups of them, and names others in lines of their own.
fn listed(words: &[String], help: &str) -> Vec<String> {
    let (before, _) = help.split_once("\nOptions:\n").unwrap_or((help, ""));
    let first = if words.is_empty() { "\nRun:\n" } else { "\nCommands:\n" };
    let Some((_, list)) = before.split_once(first) else { return Vec::new() };
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let list = if words.is_empty() { list } else { list.split("\n\n").next().unwrap_or_default() };
    let names = list.lines().filter(is_name).flat_map(|line| match line.split_once(", ") {
        Some(_) if !line.trim_start().contains("  ") => line.split(", ").collect::<Vec<_>>(),
        _ => line.split_whitespace().take(1).collect(),
    });
    names.map(|name| name.trim().to_owned()).filter(|name| name != "help" && !name.starts_with('(')).collect()
}

#[test]
fn every_command_has_a_help_that_fits_a_hundred_columns() {
    let mut found = Vec::new();
    commands(&Home::new(), &[], &mut found);
    for wanted in ["serve", "keys new", "access query", "audit verify", "pin diff", "config schema"] {
        assert!(found.iter().any(|words| words.join(" ") == wanted), "{wanted}: {found:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = home.run(["completions", shell]);
        assert!(ran.code == Some(0) && ran.out.contains("permissions"), "{shell}: {}", ran.err);
    }
    assert!(home.run(["man"]).out.contains(".TH mgp"));
    home.done(["man", "--dir", "pages"]);
    for page in ["mgp.1", "mgp-serve.1", "mgp-keys-new.1"] {
        assert!(home.path("pages").join(page).exists(), "{page}");
    }
}

#[test]
fn what_is_no_command_ends_with_one_and_says_what_is() {
    let home = Home::new();
    let ran = home.run(["serv"]);
    assert!(ran.code == Some(1) && ran.err.contains("serve"), "{ran:?}");
    let ran = home.run(["--json", "access", "grant", "a"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(error["error"]["code"], "usage");
    home.done(["--version"]);
}
