//! Servers that begin from a template.

use std::process::Command;

use crate::home::Home;

#[test]
fn a_server_is_written_in_each_language() {
    let home = Home::new();
    for (lang, files) in [
        ("rust", &["Cargo.toml", "src/main.rs"][..]),
        ("python", &["server.py"][..]),
        ("typescript", &["server.ts", "package.json"][..]),
    ] {
        let name = format!("my-{lang}");
        let ran = home.done(["new", "server", &name, "--lang", lang]);
        assert!(ran.out.contains(&format!("the first line of {name}/{}", files[0])), "{ran:?}");
        let first = home.read(&format!("{name}/{}", files[0]));
        assert!(first.lines().next().unwrap().contains(&format!("mgp add {name} -- ")), "{first}");
        for file in files {
            let text = home.read(&format!("{name}/{file}"));
            assert!(!text.contains("{{"), "{file}: {text}");
        }
    }
    let readme = include_str!("../../../README.md");
    let main = home.read("my-rust/src/main.rs").replace("my-rust", "calculator");
    let body = |text: &str| text[text.find("#[derive").unwrap()..text.find(".tool(").unwrap()].to_owned();
    let shown = &readme[readme.find("use mgp_server_sdk").unwrap()..];
    assert_eq!(body(&main).replace("0.1.0", "1.0.0"), body(shown));
}

#[test]
fn cargo_finds_what_a_server_in_rust_depends_on_in_the_checkout_of_the_program() {
    let home = Home::new();
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/../mgp-server-sdk");
    home.done(["new", "server", "found"]);
    home.done(["new", "server", "named", "--sdk", sdk]);
    for name in ["found", "named"] {
        // With the versions that are here already, nothing is fetched.
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
        std::fs::copy(lock, home.path(&format!("{name}/Cargo.lock"))).unwrap();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["tree", "--offline", "--depth", "1"]).current_dir(home.path(name));
        let tree = cargo.output().unwrap();
        let printed = String::from_utf8_lossy(&tree.stdout);
        assert!(tree.status.success() && printed.contains("mgp-server-sdk v"), "{tree:?}");
    }
}

#[test]
fn a_server_in_rust_is_not_written_without_its_sdk() {
    let home = Home::new();
    let ran = home.run(["new", "server", "mine", "--sdk", "nowhere"]);
    assert!(ran.code == Some(1) && ran.err.contains("--sdk FOLDER"), "{ran:?}");
    assert!(!home.path("mine").exists());
    home.done(["new", "server", "mine", "--lang", "python", "--sdk", "nowhere"]);
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
