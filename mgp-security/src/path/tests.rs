use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::doubles::cases;

fn rule(path: &str) -> Option<&'static str> {
    check_text(path).err().map(|finding| finding.rule)
}

#[test]
fn every_row_of_the_table_has_its_class() {
    for (class, path) in cases(include_str!("paths.txt")) {
        assert_eq!(rule(&path).unwrap_or("passes"), class, "{path:?}");
    }
    assert_eq!(rule("a\u{202e}b"), Some("bidirectional-control"));
}

#[test]
fn dots_and_slashes_in_every_encoding_lead_upwards_in_every_combination() {
    let dots = ".. .%00. ..%00 ..%01 .? ?? ?. .%2e %2e. .../. ..../ %2e%2e %2E%2E 0x2e0x2e %c0.%c0. %252e%252e \
        %c0%2e%c0%2e %c0%ae%c0%ae %c0%5e%c0%5e %c0%ee%c0%ee %c0%fe%c0%fe %uff0e%uff0e %u002e%u002e \
        %%32%%65%%32%%65 %%32%65%%32%65 %e0%80%ae%e0%80%ae %25c0%25ae%25c0%25ae %f0%80%80%ae%f0%80%80%ae \
        %f8%80%80%80%ae%f8%80%80%80%ae %fc%80%80%80%80%ae%fc%80%80%80%80%ae ．． ․․ ..; ..%20 ..%3b";
    let slashes = "/ \\ // \\\\ /\\ %2f %2F %5c %5C 0x2f 0x5c %252f %255c %c0%2f %c0%af %c0%5c %c1%9c %c1%8s %c1%1c \
        %c1%af %bg%qf %u2215 %u2216 %uEFC8 %uF025 %%32%%66 %%35%%63 %%32%66 %25c1%259c %25c0%25af \
        %f8%80%80%80%af %f0%80%80%af %e0%80%af ／ ＼ %2f%2f %25252f ∕";
    for dot in dots.split(' ') {
        for slash in slashes.split(' ') {
            for depth in 1..4 {
                for end in ["etc/passwd", "boot.ini", "windows/system32/drivers/etc/hosts", "x", ""] {
                    for start in ["", "/", "./", "a/", "A"] {
                        // The first of the dots belong to the name before them.
                        if start == "A" && depth == 1 {
                            continue;
                        }
                        let path = format!("{start}{}{end}", format!("{dot}{slash}").repeat(depth));
                        // Up again by as much as down, written plainly, is no way out.
                        assert!(path == "a/../x" || check_text(&path).is_err(), "{path:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn names_and_paths_that_no_file_system_takes_are_refused() {
    assert_eq!(rule(&"a".repeat(300)), Some("path-too-long"));
    assert_eq!(rule(&"a/".repeat(3000)), Some("path-too-long"));
    assert_eq!(check_text(&format!("{}/b", "a".repeat(255))), Ok(()));
}

fn opened() -> (tempfile::TempDir, Roots) {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("open");
    fs::create_dir_all(base.join("sub")).unwrap();
    fs::write(base.join("sub/file.txt"), "x").unwrap();
    fs::create_dir(directory.path().join("open-evil")).unwrap();
    fs::write(directory.path().join("secret"), "x").unwrap();
    let roots = Roots::new(&base).unwrap();
    (directory, roots)
}

fn outcome(roots: &Roots, path: &str) -> Result<PathBuf, &'static str> {
    roots.check(path).map_err(|finding| finding.rule)
}

#[test]
fn what_is_inside_may_exist_or_be_new() {
    let (directory, roots) = opened();
    let base = directory.path().canonicalize().unwrap().join("open");
    for (path, end) in
        [("sub/file.txt", "sub/file.txt"), ("./sub//new/deep.txt", "sub/new/deep.txt"), (".", "")]
    {
        assert_eq!(outcome(&roots, path), Ok(base.join(end)), "{path}");
    }
    let written_in_full = base.join("sub/file.txt");
    assert_eq!(outcome(&roots, written_in_full.to_str().unwrap()), Ok(written_in_full));
    let escaped = base.join("sub/100%25.txt");
    assert_eq!(outcome(&roots, escaped.to_str().unwrap()), Ok(escaped));
}

#[test]
fn what_is_outside_is_refused_however_alike_its_name() {
    let (directory, roots) = opened();
    let full = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    assert_eq!(outcome(&roots, &full("open-evil/x")), Err("outside-root"));
    assert_eq!(outcome(&roots, &full("secret")), Err("outside-root"));
    assert_eq!(outcome(&roots, "/"), Err("outside-root"));
    assert_eq!(outcome(&roots, "/proc/self/root/etc/passwd"), Err("outside-root"));
    assert_eq!(outcome(&roots, "sub/../../secret"), Err("traversal"));
    assert_eq!(outcome(&roots, "%2fetc/passwd"), Err("absolute-path"));
    let opened = roots.and(directory.path().join("open-evil")).unwrap();
    assert!(outcome(&opened, &full("open-evil/x")).is_ok());
}

#[test]
fn a_file_is_no_directory_to_open_or_to_go_through() {
    let (directory, roots) = opened();
    assert!(Roots::new(directory.path().join("secret")).is_err());
    assert!(Roots::new(directory.path().join("none")).is_err());
    assert_eq!(outcome(&roots, "sub/file.txt/x"), Err("unresolvable-path"));
}

#[cfg(unix)]
#[test]
fn links_are_followed_before_the_answer() {
    use std::os::unix::fs::symlink;
    let (directory, roots) = opened();
    let base = directory.path().join("open");
    symlink(directory.path(), base.join("up")).unwrap();
    symlink(directory.path().join("secret"), base.join("out.txt")).unwrap();
    symlink(directory.path().join("not-yet"), base.join("dangling")).unwrap();
    symlink("loop", base.join("loop")).unwrap();
    symlink("sub", base.join("in")).unwrap();
    assert_eq!(outcome(&roots, "up/secret"), Err("outside-root"));
    assert_eq!(outcome(&roots, "up/new/file"), Err("outside-root"));
    assert_eq!(outcome(&roots, "out.txt"), Err("outside-root"));
    assert_eq!(outcome(&roots, "dangling"), Err("unresolvable-path"));
    assert_eq!(outcome(&roots, "dangling/x"), Err("unresolvable-path"));
    assert_eq!(outcome(&roots, "loop"), Err("unresolvable-path"));
    assert_eq!(outcome(&roots, "in/file.txt"), Ok(base.canonicalize().unwrap().join("sub/file.txt")));
}

proptest! {
    #[test]
    fn no_path_panics(path in ".*", escaped in "[%u.0-9a-f/\\\\;? x]*") {
        let _ = check_text(&path);
        let _ = check_text(&escaped);
    }

    #[test]
    fn encoding_a_way_out_once_more_is_no_way_out(layers in 0_usize..9, rest in "[a-z]{0,5}") {
        let mut path = format!("../{rest}");
        for _ in 0..layers {
            path = path.bytes().flat_map(|byte| format!("%{byte:02x}").into_bytes()).map(char::from).collect();
            path.truncate(4095);
        }
        prop_assert!(check_text(&path).is_err());
    }

    #[test]
    fn what_roots_let_through_ends_inside(path in "[a./%2e\\\\ ~]{0,12}|(sub|up|\\.\\.|\\.|file\\.txt|/|new)(/(sub|up|\\.\\.|\\.|file\\.txt|new)){0,4}") {
        let (directory, roots) = opened();
        #[cfg(unix)]
        std::os::unix::fs::symlink(directory.path(), directory.path().join("open/up")).unwrap();
        let base = directory.path().join("open").canonicalize().unwrap();
        if let Ok(end) = roots.check(&path) {
            prop_assert!(end.starts_with(&base), "{end:?}");
            // Creating it and asking the system again gives the same place.
            if !end.exists() && fs::create_dir_all(&end).is_err() {
                return Ok(());
            }
            prop_assert!(base.join(&path).canonicalize().unwrap().starts_with(&base));
        }
    }
}
