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
    let listed = help.out.split("\nCommands:\n").nth(1).unwrap_or_default();
    for line in listed.lines().take_while(|line| line.starts_with("  ")) {
        let is_name = !line.starts_with("   ");
        let name = line.split_whitespace().next().filter(|name| is_name && *name != "help");
        if let Some(name) = name {
            commands(home, &[words, &[name.to_owned()]].concat(), found);
        }
    }
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
