//! Sentence encoders that commands install.

use std::fs;

use crate::home::Home;

const NAME: &str = "all-MiniLM-L6-v2";

#[test]
fn models_are_listed_with_their_folder_whether_or_not_they_are_installed() {
    let home = Home::new();
    let listed = home.json(["model", "list"]);
    let model = &listed["models"][0];
    assert_eq!((model["name"].as_str(), model["installed"].as_bool()), (Some(NAME), Some(false)));
    let folder = model["folder"].as_str().unwrap();
    assert_eq!(folder, home.path(".local/share/mgp/models").join(NAME).to_str().unwrap());
    let shown = home.run(["model", "list"]);
    assert!(shown.out.contains("91.3 MB") && shown.out.contains("Apache-2.0"), "{shown:?}");
}

#[test]
fn files_that_are_not_the_published_ones_are_not_installed() {
    let home = Home::new();
    fs::create_dir(home.path("from")).unwrap();
    let from = home.path("from").display().to_string();
    let install = || home.run(["model", "install", NAME, "--from", &from]);
    let lacking = install();
    assert!(lacking.code == Some(1) && lacking.err.contains("config.json"), "{lacking:?}");
    home.write("from/config.json", "{}");
    let another = install();
    assert!(another.code == Some(1) && another.err.contains("SHA-256"), "{another:?}");
    assert_eq!(home.json(["model", "list"])["models"][0]["installed"], false);
}

#[test]
fn what_is_not_known_or_not_installed_is_said() {
    let home = Home::new();
    let unknown = home.run(["model", "install", "../escape"]);
    assert!(unknown.code == Some(1) && unknown.err.contains(NAME), "{unknown:?}");
    let absent = home.run(["model", "remove", NAME]);
    assert!(absent.code == Some(1) && absent.err.contains("not installed"), "{absent:?}");
}

#[test]
fn doctor_names_the_embedder_and_files_that_it_lacks() {
    let home = Home::with_state();
    let finding = |home: &Home| {
        let ran = home.run(["--json", "doctor"]);
        let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["what"] == "embedder").unwrap().clone()
    };
    let table = finding(&home);
    assert_eq!(table["ok"], true);
    assert!(table["hint"].as_str().unwrap().contains("mgp model install"), "{table}");
    let mut config = home.read("mgp.toml");
    config.push_str("\n[tools]\nembedder = \"encoder:/no/such/folder\"\n");
    home.write("mgp.toml", &config);
    let lacking = finding(&home);
    assert_eq!(lacking["ok"], false);
    assert!(lacking["told"].as_str().unwrap().contains("/no/such/folder has no config.json"), "{lacking}");
}

#[cfg(not(feature = "fastembed"))]
#[test]
fn an_embedder_that_this_build_lacks_is_refused_by_the_check_as_by_the_kernel() {
    let home = Home::new();
    home.write("mgp.toml", "[tools]\nembedder = \"fastembed:/models\"\n");
    for args in [["config", "check"], ["serve", "--foreground"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.err.contains("this build has no such embedder; build `mgp` with `--features fastembed`"),
            "{ran:?}"
        );
    }
}
