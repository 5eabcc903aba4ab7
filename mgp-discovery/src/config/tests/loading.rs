//! Tests of the files that are read.

use std::fs;
use std::path::PathBuf;

use super::super::{Config, FolderFile, LoadedConfig, Locations, TrustedFolders};
use super::SEED;

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new(project: Option<&str>, user: Option<&str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("mgp.toml", project), ("servers.toml", user)] {
            if let Some(text) = text {
                fs::write(directory.path().join(name), text).unwrap();
            }
        }
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn locations(&self) -> Locations {
        Locations::of(Some(self.path("mgp.toml")), Some(self.path("servers.toml")))
            .trusting(TrustedFolders::at(self.path("trusted")))
    }

    /// Trusts the folder as it is.
    fn trust(&self) {
        let file = FolderFile::read(&self.path("mgp.toml")).unwrap();
        if let Some(file) = file {
            self.locations().trusted().unwrap().trust(&file).unwrap();
        }
    }

    fn load(&self) -> LoadedConfig {
        self.trust();
        Config::load(&self.locations(), &nothing).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn nothing(_: &str) -> Option<String> {
    None
}

#[test]
fn a_file_that_lies_where_nothing_reads_it_is_told_of() {
    let files = Files::new(Some("[[servers]]\nid='a'\ncommand='x'\n"), None);
    let elsewhere = Locations::of(Some(files.path("folder/mgp.toml")), Some(files.path("servers.toml")));
    let loaded = Config::load(&elsewhere, &nothing).unwrap();
    assert!(loaded.files.is_empty());
    let warning = loaded.warnings[0].to_string();
    assert!(
        warning.contains("mgp.toml") && warning.contains("`servers.toml` in the same folder"),
        "{warning}"
    );
    assert!(files.load().warnings.is_empty(), "the file of the folder is read");
}

// covers: MGP-15.1-01, MGP-15.2-01..03
#[test]
fn servers_of_both_files_are_found_and_the_users_win() {
    let files = Files::new(
        Some("[[servers]]\nid='both'\ncommand='project'\n[[servers]]\nid='p'\ncommand='x'\n"),
        Some("[[servers]]\nid='both'\ncommand='user'\nenv={A='b'}\n[[servers]]\nid='u'\ncommand='x'\n"),
    );
    let loaded = files.load();
    let ids: Vec<&str> = loaded.config.servers.iter().map(|server| server.id.as_str()).collect();
    assert_eq!(ids, ["both", "u", "p"]);
    assert_eq!(loaded.config.server("both").unwrap().command.as_deref(), Some("user"));
    assert_eq!(loaded.sources["p"], files.path("mgp.toml"));
    assert_eq!(loaded.sources["both"], files.path("servers.toml"));
    assert_eq!(loaded.files, [files.path("mgp.toml"), files.path("servers.toml")]);
    let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert_eq!(warning.key.as_deref(), Some("servers[0].id"));
}

#[test]
fn a_folders_file_counts_as_it_was_trusted_only() {
    let files =
        Files::new(Some("[[servers]]\nid='p'\ncommand='x'\n"), Some("[[servers]]\nid='u'\ncommand='x'\n"));
    let load = || Config::load(&files.locations(), &nothing).unwrap();
    let untrusted = load();
    assert!(untrusted.config.server("p").is_none() && untrusted.config.server("u").is_some());
    assert_eq!(untrusted.files, [files.path("servers.toml")]);
    assert_eq!(
        untrusted.untrusted.unwrap().to_string(),
        "mgp.toml in this folder is not trusted and is ignored: run \"mgp trust\" to look at it and allow it"
    );
    files.trust();
    assert!(load().config.server("p").is_some() && load().untrusted.is_none());
    fs::write(files.path("mgp.toml"), "is this = TOML?").unwrap();
    let changed = load();
    assert!(changed.config.server("p").is_none());
    assert!(changed.untrusted.unwrap().to_string().contains("has changed since you trusted it"));
}

// covers: MGP-15.2-04
#[test]
fn the_file_that_the_environment_names_is_read_alone_and_has_to_be_there() {
    let files = Files::new(Some("[[servers]]\nid='p'\ncommand='x'\n"), None);
    let other = files.path("other.toml");
    let named = other.display().to_string();
    let environment = move |name: &str| (name == "MGP_CONFIG_PATH").then(|| named.clone());
    let locations = Locations::from_env(&environment, files.directory.path());
    let error = Config::load(&locations, &environment).unwrap_err();
    assert!(error.to_string().contains("there is no such file"), "{error}");

    fs::write(&other, "[[servers]]\nid='o'\ncommand='x'\n").unwrap();
    let loaded = Config::load(&locations, &environment).unwrap();
    assert_eq!(loaded.files, [other]);
    assert!(loaded.config.server("o").is_some() && loaded.config.server("p").is_none());
}

#[test]
fn without_a_file_there_is_an_empty_configuration() {
    let loaded = Files::new(None, None).load();
    assert_eq!(loaded.config, Config::default());
    assert!(loaded.files.is_empty() && loaded.warnings.is_empty());
}

#[test]
fn one_broken_file_starts_nothing_of_the_other() {
    let files = Files::new(Some("[[servers]]\nid='p'\ncommand='x'\n"), Some("[[servers]]\nid='u'\n"));
    files.trust();
    let error = Config::load(&files.locations(), &nothing).unwrap_err();
    assert_eq!(error.problems()[0].file, files.path("servers.toml"));
}

// covers: MGP-15.2-14
#[test]
fn an_undefined_variable_is_a_fault_of_its_server_alone() {
    let files = Files::new(Some(&format!("{SEED}[[servers]]\nid='fine'\ncommand='x'\n")), None);
    let loaded = files.load();
    let fault = &loaded.faulty["mind.cerebras"];
    assert_eq!(
        (fault.what.as_str(), fault.key.as_str()),
        ("the variable CEREBRAS_API_KEY is not set", "env.CEREBRAS_API_KEY")
    );
    assert!(!loaded.faulty.contains_key("fine"));
    let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert_eq!(warning.position.map(|position| position.line), Some(14));
    assert_eq!(warning.key.as_deref(), Some("servers[0].env.CEREBRAS_API_KEY"));
}

#[test]
fn a_server_that_is_switched_off_needs_no_variables() {
    let files = Files::new(Some("[[servers]]\nid='a'\ncommand='${NONE}'\nenabled=false\n"), None);
    assert!(files.load().faulty.is_empty());
}

#[test]
fn a_rule_may_name_a_server_of_the_other_file() {
    let files = Files::new(
        Some("[[access.rules]]\nagent='a'\nserver='u'\npermission='deny'\n"),
        Some("[[servers]]\nid='u'\ncommand='x'\n"),
    );
    assert_eq!(files.load().warnings, []);
}

#[test]
fn what_is_no_text_and_what_is_no_file_is_refused() {
    let files = Files::new(None, None);
    let path = files.path("mgp.toml");
    fs::write(&path, b"[listen]\nhttp = \"\xff\"\n").unwrap();
    let error = Config::load(&Locations::only(&path), &nothing).unwrap_err();
    assert_eq!(error.problems()[0].position.map(|position| position.line), Some(2), "{error}");

    let error = Config::load(&Locations::only(files.directory.path()), &nothing).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");

    fs::write(&path, vec![b'#'; (4 << 20) + 1]).unwrap();
    let error = Config::load(&Locations::only(&path), &nothing).unwrap_err();
    assert!(error.to_string().contains("longer than 4 MiB"), "{error}");
}
