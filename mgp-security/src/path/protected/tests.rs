use super::PathAccess::{Read, Remove, Write};
use super::*;
use crate::doubles::cases;

fn refused(path: &str, access: PathAccess) -> bool {
    ProtectedPaths::default().judge(path, access).is_some()
}

#[test]
fn every_row_of_the_table_is_protected_as_it_says() {
    for (protection, path) in cases(include_str!("paths.txt")) {
        let refused = (refused(&path, Read), refused(&path, Write));
        assert_eq!(refused, (protection == "secret", protection != "free"), "{path}");
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

#[cfg(unix)]
#[test]
fn a_reader_may_ask_for_everything_in_a_folder_with_a_file_of_the_kernel() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("mgp.toml");
    std::fs::write(&own, "").unwrap();
    let protected = ProtectedPaths::default().with_own(&own).on_this_machine(directory.path());
    for pattern in ["*", "**", "**/*"] {
        assert!(protected.judge(pattern, Read).is_none(), "{pattern}");
        assert!(protected.judge(pattern, Remove).is_some(), "{pattern}");
    }
    assert!(protected.judge("mgp.toml", Read).is_some());
    assert!(protected.judge("mgp.*", Read).is_some());
}
