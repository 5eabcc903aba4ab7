//! Tests of changes to the file.

use std::collections::BTreeMap;
use std::fs;

use mgp_types::mgp::{AskRule, Asking, CallEffect};

use super::super::model::{FolderRule, ServerConfig, ServerMgp};
use super::super::{ConfigFile, EditError};
use super::{SEED, config};
use crate::FileReaders;

fn server(id: &str) -> ServerConfig {
    ServerConfig { id: id.into(), command: Some("npx".into()), ..ServerConfig::default() }
}

fn opened(text: &str) -> (tempfile::TempDir, ConfigFile) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mgp.toml");
    fs::write(&path, text).unwrap();
    let file = ConfigFile::open(path).unwrap();
    (directory, file)
}

#[test]
fn a_server_is_added_as_somebody_would_write_it() {
    let (_directory, mut file) = opened("# mine\n[listen] # here\nhttp = \"127.0.0.1:1\"\n");
    let mut added = server("files");
    added.args = vec!["-y".into(), "files".into()];
    added.env = BTreeMap::from([("TOKEN".into(), "${TOKEN}".into())]);
    added.mgp = Some(ServerMgp { extensions: vec!["security".into()], ..ServerMgp::default() });
    file.add(&added).unwrap();
    assert_eq!(
        file.text(),
        "# mine\n[listen] # here\nhttp = \"127.0.0.1:1\"\n\n[[servers]]\nid = \"files\"\ncommand = \"npx\"\n\
         args = [\"-y\", \"files\"]\n\n[servers.env]\nTOKEN = \"${TOKEN}\"\n\n[servers.mgp]\n\
         extensions = [\"security\"]\n"
    );
    assert_eq!(config(file.text()).servers, [added]);
}

#[test]
fn folders_are_opened_behind_the_others_and_comments_stay() {
    let rule = |open: &str, within: Option<&str>| {
        let within = within.map(str::to_owned);
        FolderRule { open: vec![open.to_owned()], within }
    };
    let (_directory, mut file) = opened("# no end");
    file.open_folders(&rule("/a b", Some("/c"))).unwrap();
    assert_eq!(file.text(), "# no end\n\n[[folders]]\nopen = [\"/a b\"]\nin = \"/c\"\n");
    let (_directory, mut file) = opened(&format!("{}[tools]\nlevel = \"L0\"\n", file.text()));
    file.open_folders(&rule("/d", None)).unwrap();
    assert_eq!(config(file.text()).folders, [rule("/a b", Some("/c")), rule("/d", None)]);
    let (_directory, mut file) = opened("folders = [{ open = [\"~/x\"] }]\n");
    file.open_folders(&rule("/d", None)).unwrap();
    assert_eq!(config(file.text()).folders.len(), 2);
}

#[test]
fn a_rule_for_questions_takes_the_place_of_the_one_about_the_same_calls() {
    let rule = |tool: &str, ask| AskRule::new(tool.parse().unwrap(), ask);
    let sends = AskRule { effect: Some(CallEffect::Sends), ..rule("git.*", Asking::Once) };
    for text in ["# mine\n[tools]\nlevel = \"L0\"\n", "ask = []\n"] {
        let (_directory, mut file) = opened(text);
        for rule in [rule("db.query", Asking::Always), sends.clone(), rule("db.query", Asking::Never)] {
            file.set_ask(&rule).unwrap();
        }
        assert_eq!(config(file.text()).ask, [sends.clone(), rule("db.query", Asking::Never)], "{text}");
        assert!(file.forget_ask(&AskRule { ask: Asking::Refuse, ..sends.clone() }).unwrap());
        assert!(!file.forget_ask(&sends).unwrap());
        file.forget_ask(&rule("db.query", Asking::Never)).unwrap();
        assert_eq!(file.text(), text);
    }
}

#[test]
fn adding_and_removing_again_leaves_the_file_as_it_was() {
    let text =
        format!("# top\n\n# about it\n{SEED}\n# about listening\n[listen]\nrequire_keys = true # always\n");
    let (_directory, mut file) = opened(&text);
    file.add(&server("b")).unwrap();
    assert_eq!(config(file.text()).servers.len(), 2);
    file.remove("b").unwrap();
    assert_eq!(file.text(), text);
    assert_eq!(file.text_before(), text);
}

#[test]
fn comments_stay_above_what_is_added_after_them() {
    let table = "[[servers]]\nid = \"files\"\ncommand = \"npx\"\n";
    for (before, after) in [
        (String::new(), table.to_owned()),
        ("# top\n\n# proposed\n#[listen]\n".into(), format!("# top\n\n# proposed\n#[listen]\n\n{table}")),
        ("# no end".into(), format!("# no end\n\n{table}")),
        (
            "# top\n[listen]\nhttp = \"127.0.0.1:1\"\n#require_keys = true\n\n# the end\n".into(),
            format!("# top\n[listen]\nhttp = \"127.0.0.1:1\"\n#require_keys = true\n\n# the end\n\n{table}"),
        ),
        (
            "[[servers]]\nid='a'\ncommand='x'\n#args = []\n\n# about listening\n[listen]\n# last\n".into(),
            format!(
                "[[servers]]\nid='a'\ncommand='x'\n#args = []\n\n{table}\n# about listening\n[listen]\n# last\n"
            ),
        ),
        (
            "[[servers]]\nid='a'\ncommand='x'\n[servers.env]\nA='1'\n# about listening\n[listen]\n".into(),
            format!(
                "[[servers]]\nid='a'\ncommand='x'\n[servers.env]\nA='1'\n\n{table}# about listening\n[listen]\n"
            ),
        ),
    ] {
        let (_directory, mut file) = opened(&before);
        file.add(&server("files")).unwrap();
        assert_eq!(file.text(), after);
        // The second server goes behind the first.
        file.add(&server("more")).unwrap();
        let second = table.replace("files", "more");
        assert_eq!(file.text(), after.replace(table, &format!("{table}\n{second}")));
        file.remove("more").unwrap();
        assert_eq!(file.text(), after);
    }
}

#[test]
fn what_was_added_to_a_file_of_comments_is_removed_again() {
    let text = "# top\n\n# proposed\n#[listen]\n";
    let (_directory, mut file) = opened(text);
    file.add(&server("files")).unwrap();
    file.remove("files").unwrap();
    assert_eq!(file.text(), text);
}

#[test]
fn a_removed_server_takes_its_own_comment_along_and_no_other() {
    let text = "# top of the file\n\n# about a\n[[servers]]\nid='a'\ncommand='x'\n\n# about b\n[[servers]]\nid='b'\n\
                command='x' # why\n";
    let (_directory, mut file) = opened(text);
    file.remove("a").unwrap();
    assert_eq!(file.text(), "# top of the file\n\n# about b\n[[servers]]\nid='b'\ncommand='x' # why\n");
    file.remove("b").unwrap();
    assert_eq!(file.text(), "# top of the file\n");
}

#[test]
fn servers_in_one_line_stay_in_one_line() {
    let (_directory, mut file) = opened("servers = [{ id = 'a', command = 'x' }]\n");
    file.add(&server("b")).unwrap();
    assert_eq!(config(file.text()).servers.len(), 2);
    file.remove("a").unwrap();
    let left = config(file.text()).servers;
    assert_eq!(left, [server("b")]);
    assert_eq!(file.text().lines().count(), 1, "{}", file.text());
}

#[test]
fn what_is_there_is_not_added_and_what_is_not_is_not_removed() {
    let (_directory, mut file) = opened(SEED);
    assert!(matches!(file.add(&server("mind.cerebras")), Err(EditError::Exists(_))));
    assert!(matches!(file.remove("other"), Err(EditError::Missing(_))));
    assert_eq!(file.text(), SEED);
}

#[test]
fn nothing_is_written_that_could_not_be_read() {
    let (directory, mut file) = opened(SEED);
    let nowhere = ServerConfig { id: "b".into(), ..ServerConfig::default() };
    let refused = file.add(&nowhere).unwrap_err();
    assert!(matches!(&refused, EditError::Unfit { id, .. } if id == "b"), "{refused}");
    assert!(refused.to_string().contains("write `command"), "{refused}");
    assert_eq!(file.text(), SEED);
    assert_eq!(fs::read_to_string(directory.path().join("mgp.toml")).unwrap(), SEED);
    fs::write(directory.path().join("mgp.toml"), "broken").unwrap();
    assert!(ConfigFile::open(directory.path().join("mgp.toml")).is_err());
}

#[cfg(unix)]
#[test]
fn a_new_file_is_for_its_owner_and_an_old_one_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep").join("servers.toml");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let mut file = ConfigFile::open(&path).unwrap();
    file.add(&server("a")).unwrap();
    file.save(FileReaders::Kept).unwrap();
    assert_eq!(mode(), 0o600);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut file = ConfigFile::open(&path).unwrap();
    file.add(&server("b")).unwrap();
    file.save(FileReaders::Kept).unwrap();
    assert_eq!(mode(), 0o640);
    assert_eq!(config(&fs::read_to_string(&path).unwrap()).servers.len(), 2);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn keys_of_a_server_are_set_and_what_a_person_wrote_stays() {
    let (_directory, mut file) = opened(
        "[[servers]]\nid = 'files'\ncommand = 'npx' # mine\nargs = ['a@1']\nenabled = false\n\n[servers.env]\nOLD = '1'\n",
    );
    let mut wanted = server("files");
    wanted.args = vec!["a@2".into()];
    wanted.env = BTreeMap::from([("NEW".into(), "2".into())]);
    wanted.package = Some("x/a@2".into());
    file.update(&wanted, &["args", "env", "package", "cwd"]).unwrap();
    let now = config(file.text()).servers;
    assert_eq!(now, [ServerConfig { enabled: false, ..wanted.clone() }]);
    assert!(file.text().contains("command = 'npx' # mine"), "{}", file.text());
    let (_directory, mut inline) = opened("servers = [{ id = 'files', command = 'npx' }]\n");
    inline.update(&wanted, &["args", "env", "package"]).unwrap();
    assert_eq!(config(inline.text()).servers, [wanted]);
    assert!(matches!(inline.update(&server("other"), &["args"]), Err(EditError::Missing(_))));
}
