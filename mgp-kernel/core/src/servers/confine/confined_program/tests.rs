use mgp_types::mgp::Scope;

use super::*;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for folder in ["state/scratch", "data/secret", "data/open", "server", "config"] {
            std::fs::create_dir_all(home.path(folder)).unwrap();
        }
        for file in ["server/serve.py", "config/other.toml", "config/servers.toml"] {
            std::fs::write(home.path(file), "").unwrap();
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn opened(&self, granted: &[(Permission, GrantTerms)], config: &str) -> Result<Confinement, String> {
        self.opened_with(None, granted, config)
    }

    fn opened_with(
        &self,
        folders: Option<&[PathBuf]>,
        granted: &[(Permission, GrantTerms)],
        config: &str,
    ) -> Result<Confinement, String> {
        let confined = Confined {
            config: &serde_json::from_str(config).unwrap(),
            command: "sh",
            args: &["server/serve.py"],
            folder: &self.path(""),
            path: &format!("/bin:/usr/bin:{}", self.path("bin").display()),
            granted,
            own_folders: [&self.path("state/scratch"), &self.path("state/home")],
            folders,
            has_views: true,
            code: None,
            own: &[self.path("state"), self.path("config/secrets.toml"), self.path("config/servers.toml")],
            home: Some(&self.path("")),
        };
        opened(&confined).map(|(_, confinement)| confinement)
    }

    fn access(&self, to: &Confinement, name: &str) -> Option<PathAccess> {
        let path = self.path(name);
        to.paths
            .iter()
            .filter(|opened| path.starts_with(&opened.path) && opened.access != PathAccess::List)
            .map(|opened| opened.access)
            .max()
    }
}

fn terms(scope: &str) -> GrantTerms {
    GrantTerms {
        scope: Some(Box::new(serde_json::from_str::<Scope>(scope).unwrap())),
        ..GrantTerms::default()
    }
}

#[test]
fn without_a_grant_only_its_own_folders_are_open() {
    let home = Home::new();
    let to = home.opened(&[], "{}").unwrap();
    assert_eq!(home.access(&to, "server/serve.py"), Some(PathAccess::Read));
    assert_eq!(home.access(&to, "state/scratch/x"), Some(PathAccess::Write));
    assert_eq!((home.access(&to, "data/open"), home.access(&to, "state/mgp.db")), (None, None));
    assert!(!to.has_network() && !to.unix_sockets && !to.change_modes);
}

#[test]
fn open_folders_can_be_changed_apart_from_the_settings_in_them() {
    let home = Home::new();
    for name in [".git/hooks", ".git/objects", ".vscode", "src", ".ssh"] {
        std::fs::create_dir_all(home.path("data").join(name)).unwrap();
    }
    for name in ["data/.git/config", "data/.vscode/tasks.json"] {
        std::fs::write(home.path(name), "").unwrap();
    }
    let to = home.opened_with(Some(&[home.path("data")]), &[], "{}").unwrap();
    assert_eq!(home.access(&to, "data/src/new.rs"), Some(PathAccess::Write));
    let kept = |name: &str| to.read_only.contains(&home.path("data").join(name));
    assert!(
        kept(".git/hooks") && kept(".git/config") && kept(".vscode/tasks.json") && !kept(".git/objects"),
        "{to:?}"
    );
    assert_eq!((home.access(&to, "diary"), home.access(&to, "state/mgp.db")), (None, None));
    assert_eq!(home.access(&to, "config/secrets.toml"), None);
    assert_eq!((&to.connect, &to.listen, to.unix_sockets), (&Ports::All, &Ports::All, false));
}

#[test]
fn a_folder_from_which_programs_start_is_opened_to_no_server_for_writing() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("bin")).unwrap();
    let folders = [home.path("bin"), home.path("state"), home.path("data/open")];
    let to = home.opened_with(Some(&folders), &[], "{}").unwrap();
    assert_eq!(home.access(&to, "bin/tool"), Some(PathAccess::Read));
    assert_eq!(home.access(&to, "state/mgp.db"), None);
    assert_eq!(home.access(&to, "data/open/x"), Some(PathAccess::Write));
}

#[test]
fn a_grant_opens_what_its_scope_says_and_nothing_else() {
    let home = Home::new();
    let (open, secret) = (home.path("data"), home.path("data/secret"));
    let scope = format!(r#"{{"paths":["{}/**"],"deny_paths":["{}"]}}"#, open.display(), secret.display());
    let granted = [
        (Permission::FilesystemRead, terms(&scope)),
        (Permission::NetworkOutbound, terms(r#"{"ports":[443]}"#)),
    ];
    let to = home.opened(&granted, "{}").unwrap();
    assert_eq!(home.access(&to, "data/open/x"), Some(PathAccess::Read));
    assert_eq!(home.access(&to, "data/secret/x"), None);
    assert_eq!(to.connect, Ports::Only(vec![NAME_SERVICE, 443]));
    assert!(!to.has_datagrams());
}

#[test]
fn a_pattern_that_no_folder_is_opens_nothing() {
    let home = Home::new();
    let scope = format!(r#"{{"paths":["{}/*.csv"]}}"#, home.path("data").display());
    let to = home.opened(&[(Permission::FilesystemRead, terms(&scope))], "{}").unwrap();
    assert_eq!(home.access(&to, "data/x.csv"), None);
    let scope = r#"{"deny_paths":["**/.env"]}"#;
    let to = home.opened(&[(Permission::FilesystemRead, terms(scope))], "{}").unwrap();
    assert_eq!(home.access(&to, "data/x.csv"), None);
}

#[test]
fn what_other_programs_start_from_is_never_open_for_writing() {
    let home = Home::new();
    for name in [".npm/tool", ".local/bin/tool", "bin/tool"] {
        std::fs::create_dir_all(home.path(name)).unwrap();
    }
    std::fs::write(home.path(".bashrc"), "").unwrap();
    let whole = format!(r#"{{"paths":["{}/**"]}}"#, home.path("").display());
    for scope in [whole.as_str(), "{}"] {
        let to = home.opened(&[(Permission::FilesystemWrite, terms(scope))], "{}").unwrap();
        assert_eq!(home.access(&to, "data/open/x"), Some(PathAccess::Write), "{scope}");
        for closed in [".npm/tool", ".local/bin/tool", ".bashrc", "bin/tool"] {
            assert_eq!(home.access(&to, closed), None, "{scope} {closed}");
        }
    }
    let named = |path: &str| home.opened(&[], &format!(r#"{{"confinement":{{"write":["{path}"]}}}}"#));
    let to = named("~/.npm/tool").unwrap();
    assert_eq!(home.access(&to, ".npm/tool"), Some(PathAccess::Write), "it is named");
    for path in ["~/bin", "~/bin/tool", "/usr/bin"] {
        let refused = named(path).unwrap_err();
        assert!(refused.contains("programs start from"), "{path}: {refused}");
    }
}

#[test]
fn the_files_of_the_kernel_stay_closed_whatever_is_granted() {
    let home = Home::new();
    for permission in [Permission::FilesystemRead, Permission::FilesystemWrite] {
        let to = home.opened(&[(permission, GrantTerms::default())], "{}").unwrap();
        assert!(home.access(&to, "data/open/x").is_some());
        assert!(home.access(&to, "config/other.toml").is_some());
        // A file that does not exist yet is closed, too.
        for own in ["state/mgp.db", "config/secrets.toml", "config/servers.toml", "config/new.toml"] {
            assert_eq!(home.access(&to, own), None, "{own}");
        }
        for path in ["/proc/1/environ", "/dev/tty", "/sys/kernel/debug"] {
            let opened = to.paths.iter().filter(|opened| opened.access != PathAccess::List);
            assert!(opened.clone().all(|opened| !Path::new(path).starts_with(&opened.path)), "{path}");
        }
    }
    let config = format!(r#"{{"confinement":{{"read":["{}"]}}}}"#, home.path("state/mgp.db").display());
    assert!(home.opened(&[], &config).unwrap_err().contains("kernel's own"));
}

#[test]
fn the_configuration_opens_more() {
    let home = Home::new();
    let config = r#"{"confinement":{"read":["~/data/open"],"connect":[5432],"unix_sockets":true}}"#;
    let to = home.opened(&[], config).unwrap();
    assert_eq!(home.access(&to, "data/open/x"), Some(PathAccess::Read));
    assert!(to.unix_sockets && to.connect == Ports::Only(vec![NAME_SERVICE, 5432]));
}
