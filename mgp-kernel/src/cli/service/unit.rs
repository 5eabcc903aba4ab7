//! The files that tell systemd or launchd how to run the kernel.

use std::fmt::Write as _;
use std::path::PathBuf;

/// The account under which the kernel runs as a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceAccount {
    /// The user who installs the service.
    Own,
    /// A user that exists only for the service, so that no program of a person reaches the files of the kernel.
    System,
}

/// The service manager of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    /// Returns the service manager of this system.
    pub(super) const fn of_system() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }
}

/// The description of a service, from which its files are made.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) manager: Manager,
    pub(super) account: ServiceAccount,
    /// The absolute path of the program.
    pub(super) program: PathBuf,
    /// The options before `serve`, with absolute paths.
    pub(super) options: Vec<(&'static str, PathBuf)>,
    pub(super) http: String,
    /// The home directory of the user; only a service of that user has files there.
    pub(super) home: PathBuf,
}

/// A file of the service, with its content.
#[derive(Debug)]
pub(super) struct UnitFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Unit {
    /// Returns the files of the service.
    pub(super) fn files(&self) -> Vec<UnitFile> {
        let file = |path: PathBuf, text: String| UnitFile { path, text };
        match (self.manager, self.account) {
            (Manager::Systemd, ServiceAccount::Own) => {
                vec![file(self.home.join(".config/systemd/user/mgp.service"), self.systemd())]
            }
            (Manager::Systemd, ServiceAccount::System) => vec![
                file("/etc/sysusers.d/mgp.conf".into(), SYSUSERS.to_owned()),
                file("/etc/systemd/system/mgp.service".into(), self.systemd()),
            ],
            (Manager::Launchd, ServiceAccount::Own) => {
                vec![file(self.home.join("Library/LaunchAgents/dev.cloto.mgp.plist"), self.launchd())]
            }
            (Manager::Launchd, ServiceAccount::System) => {
                vec![file("/Library/LaunchDaemons/dev.cloto.mgp.plist".into(), self.launchd())]
            }
        }
    }

    /// Returns the commands to run once the files are there.
    pub(super) fn after_install(&self) -> &'static [&'static str] {
        match (self.manager, self.account) {
            (Manager::Systemd, ServiceAccount::Own) => {
                &["systemctl --user daemon-reload", "systemctl --user enable --now mgp"]
            }
            (Manager::Systemd, ServiceAccount::System) => &[
                "systemd-sysusers",
                "systemctl daemon-reload",
                "systemctl enable --now mgp",
                "mgp --socket /run/mgp/mgp.sock operators passphrase",
            ],
            (Manager::Launchd, ServiceAccount::Own) => {
                &["launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/dev.cloto.mgp.plist"]
            }
            (Manager::Launchd, ServiceAccount::System) => &[
                "sysadminctl -addUser _mgp -roleAccount; dseditgroup -o create mgp-operators",
                "launchctl bootstrap system /Library/LaunchDaemons/dev.cloto.mgp.plist",
                "mgp --socket /var/run/mgp/mgp.sock operators passphrase",
            ],
        }
    }

    /// Returns the link by which the service manager starts the service with the system, where that is a file of its own.
    pub(super) fn enabling_link(&self) -> Option<PathBuf> {
        let units = match (self.manager, self.account) {
            (Manager::Systemd, ServiceAccount::Own) => self.home.join(".config/systemd/user"),
            (Manager::Systemd, ServiceAccount::System) => "/etc/systemd/system".into(),
            (Manager::Launchd, _) => return None,
        };
        Some(units.join(format!("{}.wants/mgp.service", self.wanted_by())))
    }

    /// Returns the commands that end the service once its files are gone.
    pub(super) fn after_uninstall(&self) -> &'static [&'static str] {
        match (self.manager, self.account) {
            (Manager::Systemd, ServiceAccount::Own) => {
                &["systemctl --user stop mgp", "systemctl --user daemon-reload"]
            }
            (Manager::Systemd, ServiceAccount::System) => &["systemctl stop mgp", "systemctl daemon-reload"],
            (Manager::Launchd, ServiceAccount::Own) => &["launchctl bootout gui/$(id -u)/dev.cloto.mgp"],
            (Manager::Launchd, ServiceAccount::System) => &["launchctl bootout system/dev.cloto.mgp"],
        }
    }

    /// Returns the socket at which operators reach the kernel of the system.
    pub(super) const fn system_socket(&self) -> &'static str {
        match self.manager {
            Manager::Systemd => "/run/mgp/mgp.sock",
            Manager::Launchd => "/var/run/mgp/mgp.sock",
        }
    }

    /// Returns the target of systemd that the service starts with.
    const fn wanted_by(&self) -> &'static str {
        match self.account {
            ServiceAccount::Own => "default.target",
            ServiceAccount::System => "multi-user.target",
        }
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.program.display().to_string()];
        if self.account == ServiceAccount::System {
            let state = if self.manager == Manager::Systemd { "/var/lib/mgp" } else { "/var/db/mgp" };
            let places = ["--config", CONFIG, "--state", state, "--socket", self.system_socket()];
            arguments.extend(places.map(str::to_owned));
        }
        for (option, path) in &self.options {
            arguments.extend([(*option).to_owned(), path.display().to_string()]);
        }
        arguments.extend(["serve", "--no-stdio", "--http"].map(str::to_owned));
        arguments.push(self.http.clone());
        if self.account == ServiceAccount::System {
            arguments.push("--group-operates".to_owned());
        }
        arguments
    }

    fn systemd(&self) -> String {
        let command: Vec<_> = self.arguments().iter().map(|argument| quoted(argument)).collect();
        let mut text = format!(
            "[Unit]\nDescription=MGP kernel\nDocumentation=man:mgp(1)\nAfter=network.target\n\n\
             [Service]\nType=exec\nExecStart={}\nExecReload=kill -HUP $MAINPID\nRestart=on-failure\n\
             TimeoutStopSec=60\nNoNewPrivileges=yes\nUMask=0077\n",
            command.join(" ")
        );
        if self.account == ServiceAccount::System {
            text.push_str(CONFINED);
        }
        let _ = write!(text, "\n[Install]\nWantedBy={}\n", self.wanted_by());
        text
    }

    fn launchd(&self) -> String {
        let mut arguments = String::new();
        for argument in self.arguments() {
            let _ = writeln!(arguments, "    <string>{}</string>", escaped(&argument));
        }
        let account = match self.account {
            ServiceAccount::Own => "",
            ServiceAccount::System => {
                "  <key>UserName</key><string>_mgp</string>\n  <key>GroupName</key><string>mgp-operators</string>\n"
            }
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key><string>dev.cloto.mgp</string>\n  \
             <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n{account}  \
             <key>RunAtLoad</key><true/>\n  <key>KeepAlive</key><true/>\n  <key>Umask</key><integer>63</integer>\n\
             </dict>\n</plist>\n"
        )
    }
}

/// Returns an argument quoted for systemd, which gives `%` and `$` a meaning of their own.
fn quoted(argument: &str) -> String {
    let mut text = String::from('"');
    for character in argument.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '%' | '$' => text.extend([character, character]),
            _ => text.push(character),
        }
    }
    text.push('"');
    text
}

fn escaped(argument: &str) -> String {
    argument.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The path of the configuration of the system's kernel.
pub(super) const CONFIG: &str = "/etc/mgp/mgp.toml";

/// The file from which systemd creates the user of the service and the group of the operators.
const SYSUSERS: &str = "g mgp-operators -\nu mgp - \"MGP kernel\" /var/lib/mgp\n";

/// The settings that confine the system's service. Its group is that of the operators, who may enter the folder of the
/// socket and nothing else. `ProtectProc` is not set, because the kernel looks up the ancestors of processes that
/// connect, so the processes of others have to stay visible.
const CONFINED: &str = "User=mgp
Group=mgp-operators
StateDirectory=mgp
StateDirectoryMode=0700
RuntimeDirectory=mgp
RuntimeDirectoryMode=0750
ConfigurationDirectory=mgp
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
LockPersonality=yes
CapabilityBoundingSet=
AmbientCapabilities=
";

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(manager: Manager, account: ServiceAccount) -> Unit {
        Unit {
            manager,
            account,
            program: "/opt/m g%p/mgp".into(),
            options: vec![("--config", "/srv/\"a\".toml".into())],
            http: "127.0.0.1:7332".into(),
            home: "/srv/ada".into(),
        }
    }

    #[test]
    fn what_a_path_holds_is_no_syntax_of_the_unit() {
        let text = &unit(Manager::Systemd, ServiceAccount::Own).files()[0].text;
        assert!(
            text.contains(r#"ExecStart="/opt/m g%%p/mgp" "--config" "/srv/\"a\".toml" "serve""#),
            "{text}"
        );
        let mut plist = unit(Manager::Launchd, ServiceAccount::Own);
        plist.program = "/a<b>&c".into();
        assert!(plist.files()[0].text.contains("<string>/a&lt;b&gt;&amp;c</string>"));
    }

    #[test]
    fn the_systems_kernel_runs_as_a_user_of_its_own_and_lets_its_group_operate_it() {
        let files = unit(Manager::Systemd, ServiceAccount::System).files();
        let text = &files[1].text;
        for line in
            ["User=mgp\n", "Group=mgp-operators\n", "StateDirectoryMode=0700\n", "CapabilityBoundingSet=\n"]
        {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(text.contains("\"--group-operates\"") && files[0].text.contains("u mgp "), "{text}");
        let own = &unit(Manager::Systemd, ServiceAccount::Own).files()[0];
        assert!(!own.text.contains("User=") && !own.text.contains("group-operates"), "{}", own.text);
        assert_eq!(own.path.to_str(), Some("/srv/ada/.config/systemd/user/mgp.service"));
    }
}
