use super::PathAccess::{Read, Remove, Write};
use super::*;

fn refused(path: &str, access: PathAccess) -> bool {
    ProtectedPaths::default().judge(path, access).is_some()
}

#[test]
fn secrets_are_protected_in_every_spelling() {
    for path in [
        ".env",
        ".env.local",
        "app/.env",
        ".ENV",
        ".npmrc",
        "sub/.npmrc",
        ".aws/credentials",
        ".kube/config",
        "id_rsa",
        "ID_RSA",
        "./id_rsa",
        "a/../id_rsa",
        "id_rsa.",
        "id_rsa ",
        "id_rsa::$DATA",
        "id_rsa:stream",
        "~/.ssh/id_ed25519",
        "~root/.ssh/id_rsa",
        "$HOME/.ssh/id_rsa",
        "${HOME}/.aws/credentials",
        "%USERPROFILE%\\.ssh\\id_rsa",
        "%HOMEDRIVE%%HOMEPATH%\\.aws\\credentials",
        "$env:USERPROFILE\\.ssh\\id_rsa",
        "C:\\Users\\ada\\.ssh\\id_rsa",
        "\\\\?\\C:\\Users\\ada\\.ssh\\id_rsa",
        "\\\\localhost\\c$\\Users\\ada\\.ssh\\id_rsa",
        "C:\\Users\\ada\\SSH~1\\id_rsa",
        "/mnt/c/Users/ada/.ssh/id_rsa",
        "file:///home/ada/.ssh/id_rsa",
        "file:/home/ada/.ssh/id_rsa",
        "file://localhost/home/ada/.ssh/id_rsa",
        "file:///home/ada/%2essh/id_rsa",
        "%2essh/id_rsa",
        "%252essh/x",
        "．ssh/id_rsa",
        ".ssh/id_rsa?x",
        "/etc/shadow",
        "//etc//shadow",
        "/etc/./shadow",
        "/tmp/../etc/shadow",
        "../../../etc/shadow",
        "/etc/shadow-",
        "/ETC/SHADOW",
        "/private/etc/master.passwd",
        "/etc/sh*w",
        "/etc/shado?",
        "/etc/[s]hadow",
        "/etc/{shadow,x}",
        "/e*/shadow",
        "/etc/*",
        "~/.ss*/id_rsa",
        "~/.ssh/*",
        "~/.{ssh,x}/id_rsa",
        "id_*",
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/self/root/etc/shadow",
        "/proc/self/cwd/x",
        "/proc/thread-self/fd/3",
        "/dev/fd/3",
        "/dev/sda",
        "/dev/mem",
        "\\\\.\\PhysicalDrive0",
        "/sys/kernel/debug/x",
        "C:\\Windows\\System32\\config\\SAM",
        "\\\\wsl$\\Ubuntu\\etc\\shadow",
        "/var/run/docker.sock",
        "~/.config/google-chrome/Default/Login Data",
        "~/Library/Keychains/login.keychain-db",
        "~/.mozilla/firefox/x.default/logins.json",
        "server.key",
        "~/.config/gcloud/credentials.db",
        ".git-credentials",
        ".netrc",
        ".pypirc",
        ".cargo/credentials.toml",
        ".docker/config.json",
        ".bash_history",
        ".envrc",
        "~/.local/state/mgp/mgp.db",
        "~/.config/mgp/servers.toml",
        "$XDG_STATE_HOME/mgp/mgp.db",
        ".git/config",
    ] {
        assert!(refused(path, Read), "{path}");
        assert!(refused(path, Write), "{path}");
    }
}

#[test]
fn what_starts_programs_may_be_read_and_not_changed() {
    for path in [
        ".mcp.json",
        ".vscode/tasks.json",
        ".cursor/mcp.json",
        ".gitconfig",
        ".bashrc",
        "~/.zshrc",
        "$HOME/.profile",
        ".git/hooks/pre-commit",
        ".husky/pre-commit",
        "mgp.toml",
        "servers.toml",
        "~/.config/systemd/user/x.service",
        "~/Library/LaunchAgents/x.plist",
        "/etc/cron.d/x",
        "/etc/systemd/system/x.service",
        "/etc/profile.d/x.sh",
        "%APPDATA%\\Microsoft\\Windows\\Start Menu\\Programs\\Startup\\x.bat",
        "/usr/bin/python3",
        "/etc/hosts",
        "~/.config/Code/User/settings.json",
        ".idea/workspace.xml",
        "~/.local/bin/git",
        ".claude/settings.json",
        "~/.codex/config.toml",
        "claude_desktop_config.json",
        "~/.ssh/config",
        "~/.ssh/id_rsa.pub",
    ] {
        assert!(!refused(path, Read), "{path}");
        assert!(refused(path, Write), "{path}");
    }
}

#[test]
fn daily_work_is_not_protected() {
    for path in [
        "src/main.rs",
        "README.md",
        "package.json",
        ".env.example",
        "Makefile",
        ".github/workflows/ci.yml",
        ".gitignore",
        ".git/HEAD",
        ".cargo/config.toml",
        "foo.",
        "~tmp",
        "a:b",
        "docs/ssh.md",
        "tests/data/server.pem",
        "cert.pem",
        "/home/ada/project/src/lib.rs",
        "C:\\Users\\ada\\project\\x.txt",
        "~/Documents/notes.md",
        "/tmp/out.png",
        "file:///home/ada/notes.txt",
        "*.json",
        "**/*.rs",
        "src/**",
        "*",
        "**/*",
        "src/*.{ts,tsx}",
        ".??*",
        "app/[slug]/page.tsx",
        "procfile",
        "proc/macro.rs",
        "dev/null.rs",
        "environment.yml",
        "keys/README.md",
        "src/code/user/model.ts",
        "lib/library/services/a.ts",
        "/dev/null",
        "~/projects/*",
        "./*",
        "notes~1",
        "2024-01-01T10:00:00.log",
        "~$budget.docx",
        "config/app.toml",
        "secrets.md",
        "token.rs",
        "src/credentials.rs",
        "data.csv",
        ".vscode/extensions.json",
    ] {
        assert!(!refused(path, Write), "{path}: {:?}", ProtectedPaths::default().judge(path, Write));
        assert!(!refused(path, Read), "{path}");
    }
}

#[test]
fn nothing_takes_away_what_something_protected_lies_in() {
    for path in ["~", "~/.config", "/etc", "/", "/home/ada", "/home/ada/.config"] {
        assert!(refused(path, Remove), "{path}");
        assert!(!refused(path, Read), "{path}");
    }
    assert!(!refused("~/project", Remove));
    assert!(!refused("target", Remove));
}

#[test]
fn own_files_are_protected_wherever_they_are_and_are_never_released() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let protected = ProtectedPaths::default()
        .with_own(&state)
        .with_home(directory.path())
        .releasing("**/*")
        .releasing("/**");
    let written = |path: &Path| path.to_str().unwrap().to_owned();
    for path in [
        written(&state),
        written(&state.join("x.db")),
        written(&state).to_uppercase(),
        format!("file://{}", written(&state)),
        format!("{}/x/../../state/x", written(&state)),
        "~/state/x.db".to_owned(),
        "$HOME/state".to_owned(),
        "~/st*/x.db".to_owned(),
    ] {
        assert!(protected.judge(&path, Read).is_some(), "{path}");
    }
    assert!(protected.judge(&written(directory.path()), Remove).is_some());
    assert!(protected.judge(&written(directory.path()), Write).is_none());
    assert!(protected.judge(&written(&directory.path().join("stated")), Write).is_none());
}

#[test]
fn an_operator_releases_single_entries() {
    let protected = ProtectedPaths::default().releasing("**/.env").releasing("~/.npmrc");
    assert!(protected.judge("app/.env", Read).is_none());
    assert!(protected.judge("app/.env.local", Read).is_some());
    assert!(protected.judge("/home/ada/.npmrc", Write).is_none());
    assert!(protected.judge("project/.npmrc", Read).is_some());
}

#[cfg(unix)]
#[test]
fn links_are_followed_where_paths_are_of_this_machine() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    std::fs::create_dir(base.join(".ssh")).unwrap();
    std::fs::create_dir(base.join("state")).unwrap();
    std::fs::write(base.join(".ssh/id_rsa"), "x").unwrap();
    std::os::unix::fs::symlink(base.join(".ssh"), base.join("docs")).unwrap();
    std::os::unix::fs::symlink(base.join("state"), base.join("notes")).unwrap();
    let protected = ProtectedPaths::default().with_own(base.join("state")).on_this_machine(base);
    for path in ["docs/x", "notes/mine", "notes"] {
        assert!(protected.judge(path, Read).is_some(), "{path}");
    }
    assert!(protected.judge("new.txt", Write).is_none());
}
