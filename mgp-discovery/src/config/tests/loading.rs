use std::fs;
use std::path::PathBuf;

use super::super::{Config, Loaded, Locations, ServerFault};
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

    fn load(&self) -> Loaded {
        let locations = Locations::of(Some(self.path("mgp.toml")), Some(self.path("servers.toml")));
        Config::load(&locations, &nothing).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn nothing(_: &str) -> Option<String> {
    None
}

// covers: MGP-15.1-01, MGP-15.2-01..03
#[test]
fn servers_of_both_files_are_found_and_the_projects_win() {
    let files = Files::new(
        Some("[[servers]]\nid='both'\ncommand='project'\n[[servers]]\nid='p'\ncommand='x'\n"),
        Some("[[servers]]\nid='both'\ncommand='user'\nenv={A='b'}\n[[servers]]\nid='u'\ncommand='x'\n"),
    );
    let loaded = files.load();
    let ids: Vec<&str> = loaded.config.servers.iter().map(|server| server.id.as_str()).collect();
    assert_eq!(ids, ["both", "p", "u"]);
    let both = loaded.config.server("both").unwrap();
    assert_eq!(both.command.as_deref(), Some("project"));
    assert!(both.env.is_empty(), "nothing of the user's goes to the project's program");
    assert_eq!(loaded.sources["both"], files.path("mgp.toml"));
    assert_eq!(loaded.sources["u"], files.path("servers.toml"));
    assert_eq!(loaded.files, [files.path("mgp.toml"), files.path("servers.toml")]);
}

#[test]
fn a_section_of_the_project_replaces_the_users_and_says_so() {
    let files = Files::new(
        Some("[telemetry]\notlp='http://project'\n"),
        Some("[telemetry]\nmetrics=true\notlp_headers={A='b'}\n[audit]\nkeep_days=3\n"),
    );
    let loaded = files.load();
    assert!(!loaded.config.telemetry.metrics && loaded.config.telemetry.otlp_headers.is_empty());
    assert_eq!(loaded.config.audit.keep_days, Some(3));
    let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert_eq!(warning.file, files.path("servers.toml"));
    assert!(warning.what.contains("`telemetry`"));
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
    let locations = Locations::of(Some(files.path("mgp.toml")), Some(files.path("servers.toml")));
    let error = Config::load(&locations, &nothing).unwrap_err();
    assert_eq!(error.problems()[0].file, files.path("servers.toml"));
}

// covers: MGP-15.2-14
#[test]
fn an_undefined_variable_is_a_fault_of_its_server_alone() {
    let files = Files::new(Some(&format!("{SEED}[[servers]]\nid='fine'\ncommand='x'\n")), None);
    let loaded = files.load();
    let ServerFault::UndefinedVariable(undefined) = &loaded.faulty["mind.cerebras"] else { panic!() };
    assert_eq!(
        (undefined.variable.as_str(), undefined.key.as_str()),
        ("CEREBRAS_API_KEY", "env.CEREBRAS_API_KEY")
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
    assert!(error.to_string().contains("it is no file"), "{error}");

    fs::write(&path, vec![b'#'; (4 << 20) + 1]).unwrap();
    let error = Config::load(&Locations::only(&path), &nothing).unwrap_err();
    assert!(error.to_string().contains("longer than 4 MiB"), "{error}");
}
