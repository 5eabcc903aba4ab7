//! Paths that lead to what no agent may touch, in every spelling, and past the directories that the operator named.

use serde_json::{Value, json};

use crate::home::Home;
use crate::runner::tests;
use crate::server;

tests![
    what_is_always_protected_is_read_neither_with_roots_nor_without,
    the_kernels_own_files_are_out_of_reach_in_every_spelling,
    what_starts_programs_is_read_and_not_written,
    directories_among_a_servers_arguments_are_its_roots,
    configured_roots_count_alone,
    an_operator_releases_one_entry_and_never_the_kernels_own,
];

/// A kernel with one server that may read and write files, asked by one client.
struct Scene(server::Scene);

impl Scene {
    fn new(lines: &str) -> Self {
        let granted = "[permissions]\npolicy = \"config_only\"\n\
            grants = [{ permission = \"filesystem.read\" }, { permission = \"filesystem.write\" }]\n\
            [confirmation]\ndangerous = false\n";
        Self(server::Scene::new(&format!("{granted}{lines}"), &[("files", "")]))
    }

    fn call(&mut self, tool: &str, path: &str) -> Value {
        self.0.call(&format!("files.{tool}"), &json!({"path": path}))
    }

    fn is_refused(&mut self, tool: &str, path: &str, rule: &str) {
        let before = server::calls(&self.0.home, "files").len();
        let answer = self.call(tool, path);
        assert_eq!(answer["result"]["isError"], true, "{path}: {answer}");
        assert!(answer.to_string().contains(rule), "{path}: {answer}");
        assert_eq!(server::calls(&self.0.home, "files").len(), before, "{path}");
    }

    fn passes(&mut self, tool: &str, path: &str) -> String {
        let answer = self.call(tool, path);
        assert_ne!(answer["result"]["isError"], true, "{path}: {answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn written(&self, name: &str) -> String {
        self.0.home.path(name).display().to_string()
    }
}

/// Some of the paths that `mgp-security` has in `path/protected/paths.txt`.
const PROTECTED: [&str; 8] = [
    "/etc/shadow",
    "/proc/self/cwd/state/mgp.db",
    "/dev/fd/3",
    "$HOME/.aws/credentials",
    "notes/files/.ENV",
    "file:///srv/ada/%2essh/id_rsa",
    "/etc/sh*w",
    "C:\\Users\\ada\\.ssh\\id_rsa",
];

async fn what_is_always_protected_is_read_neither_with_roots_nor_without() {
    for lines in ["", "[validators]\nroots = [\"/\"]\n"] {
        let mut scene = Scene::new(lines);
        for path in PROTECTED {
            scene.is_refused("read_file", path, "protected-path");
        }
    }
}

async fn the_kernels_own_files_are_out_of_reach_in_every_spelling() {
    let mut scene = Scene::new("[validators]\nroots = [\"/\"]\n");
    let home = scene.0.home.path("");
    let link = scene.0.home.path("notes/files/harmless");
    std::os::unix::fs::symlink(scene.0.home.path("state"), &link).unwrap();
    let state = scene.written("state");
    for path in [
        format!("{state}/mgp.db"),
        format!("{state}/mgp.sock"),
        state.clone(),
        format!("{}/notes/../state/mgp.db", home.display()),
        format!("file://{state}/mgp.db"),
        state.to_uppercase(),
        "state/mgp.db".to_owned(),
        "~/state/mgp.db".to_owned(),
        "$HOME/state/mgp.db".to_owned(),
        format!("{}/st*/mgp.d?", home.display()),
        format!("{}/mgp.db", link.display()),
        "notes/files/harmless/audit.db".to_owned(),
        scene.written("mgp.toml"),
        scene.written(".config/mgp/secrets.toml"),
        "~/.config/mgp/Secrets.toml".to_owned(),
    ] {
        scene.is_refused("read_file", &path, "protected-path");
    }
    scene.is_refused("delete_file", home.to_str().unwrap(), "protected-path");
}

async fn what_starts_programs_is_read_and_not_written() {
    let mut scene = Scene::new("[validators]\nroots = [\"/\"]\n");
    for name in [
        ".mcp.json", ".vscode/tasks.json", ".cursor/mcp.json", ".gitconfig", ".bashrc",
        ".git/hooks/pre-commit",
    ] {
        scene.0.home.write(name, "as it was");
        let path = scene.written(name);
        assert_eq!(scene.passes("read_file", &path), "as it was");
        scene.is_refused("write_file", &path, "protected-path");
        scene.is_refused("write_file", name, "protected-path");
    }
    let notes = scene.written("notes/files/notes.txt");
    scene.passes("write_file", &notes);
}

async fn directories_among_a_servers_arguments_are_its_roots() {
    let mut scene = Scene::new("");
    scene.0.home.write("notes/files/open.txt", "open");
    scene.0.home.write("private.txt", "private");
    let (open, private) = (scene.written("notes/files/open.txt"), scene.written("private.txt"));
    assert_eq!(scene.passes("read_file", &open), "open");
    scene.is_refused("read_file", &private, "mgp open");
    scene.is_refused("read_file", "private.txt", "outside-root");
    scene.is_refused("read_file", "~/private.txt", "outside-root");
    scene.is_refused("read_file", &format!("file://{private}"), "outside-root");
}

async fn configured_roots_count_alone() {
    let home = Home::new();
    let other = home.path("other");
    std::fs::create_dir(&other).unwrap();
    let mut scene = Scene::new(&format!("[validators]\nroots = [{other:?}]\n"));
    scene.0.home.write("notes/files/open.txt", "open");
    let open = scene.written("notes/files/open.txt");
    scene.is_refused("read_file", &open, "outside-root");
    home.write("other/a.txt", "a");
    assert_eq!(scene.passes("read_file", other.join("a.txt").to_str().unwrap()), "a");
}

async fn an_operator_releases_one_entry_and_never_the_kernels_own() {
    let mut scene = Scene::new("[validators]\nallow_paths = [\"**/.env\", \"/**\", \"~/**\"]\n");
    scene.0.home.write("notes/files/.env", "A=1");
    let env = scene.written("notes/files/.env");
    assert_eq!(scene.passes("read_file", &env), "A=1");
    let database = scene.written("state/mgp.db");
    scene.is_refused("read_file", &database, "protected-path");
}
