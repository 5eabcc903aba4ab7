//! Servers that begin from a template.

use crate::home::Home;

#[test]
fn a_server_is_written_in_each_language() {
    let home = Home::new();
    for (lang, files) in [
        ("rust", &["Cargo.toml", "src/main.rs"][..]),
        ("python", &["server.py"][..]),
        ("typescript", &["package.json", "server.ts"][..]),
    ] {
        let name = format!("my-{lang}");
        let ran = home.done(["new", "server", &name, "--lang", lang]);
        assert!(ran.out.contains("what to do next"), "{ran:?}");
        let mut is_named = false;
        for file in files {
            let text = home.read(&format!("{name}/{file}"));
            assert!(!text.contains("{{"), "{file}: {text}");
            is_named |= text.contains(&name);
        }
        assert!(is_named, "{lang}");
    }
    let manifest = home.read("my-rust/Cargo.toml");
    let readme = include_str!("../../../README.md");
    let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    let dependency = format!("\nmgp-server-sdk = {{ version = \"{version}\", git = ");
    assert!(manifest.contains(&dependency) && readme.contains(&dependency), "{manifest}");
    let main = home.read("my-rust/src/main.rs").replace("my-rust", "calculator");
    let body = |text: &str| text[text.find("#[derive").unwrap()..text.find(".tool(").unwrap()].to_owned();
    let shown = &readme[readme.find("use mgp_server_sdk").unwrap()..];
    assert_eq!(body(&main).replace("0.1.0", "1.0.0"), body(shown));
}

#[test]
fn odd_names_and_folders_that_are_there_are_refused() {
    let home = Home::new();
    for name in ["../x", "a/b", "A", "1a", "a b", "a;b", "", "a\u{301}", "-a", &"a".repeat(41)] {
        let ran = home.run(["new", "server", "--", name]);
        assert!(ran.code == Some(1) && ran.err.contains("is no name"), "{name}: {ran:?}");
    }
    home.write("there/file", "mine");
    let ran = home.run(["new", "server", "there"]);
    assert!(ran.code == Some(1) && ran.err.contains("choose another name"), "{ran:?}");
    assert_eq!(home.read("there/file"), "mine");
    assert!(!home.path("there/Cargo.toml").exists());
}
