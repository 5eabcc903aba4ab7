//! The package of Debian and its descendants: the programs, a user and units of systemd for a service.

use std::fmt::Write as _;

use anyhow::Result;

use super::{contents::Contents, release::Release, targets::Target, tree::FileTree};

/// Writes the package.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let mut files = contents.installed(release)?;
    files.add("usr/share/zsh/vendor-completions/_mgp", contents.zsh()?);
    files.add(
        format!("usr/share/doc/{}/copyright", release.names.system),
        release.filled(COPYRIGHT, &[])?.into_bytes(),
    );
    let kibibytes = files.files().map(|(_, content)| content.len().div_ceil(1024)).sum::<usize>().to_string();
    let values = [("architecture", target.debian.as_str()), ("size", &kibibytes)];
    let mut control = FileTree::default();
    control.add("control", release.filled(CONTROL, &values)?.into_bytes());
    control.add("conffiles", CONFFILES.as_bytes());
    for (name, script) in SCRIPTS {
        control.add_program(name, script.as_bytes());
    }
    let mut package = b"!<arch>\n".to_vec();
    add_member(&mut package, "debian-binary", release.time, b"2.0\n");
    add_member(&mut package, "control.tar.gz", release.time, &release.tar_gz(&control)?);
    add_member(&mut package, "data.tar.gz", release.time, &release.tar_gz(&files)?);
    release.write(&name(release, target), &package)
}

/// Returns the name of the package's file.
pub(super) fn name(release: &Release, target: &Target) -> String {
    format!("{}_{}_{}.deb", release.names.system, release.version, target.debian)
}

/// Adds a member to an archive of `ar`.
fn add_member(archive: &mut Vec<u8>, name: &str, time: u64, content: &[u8]) {
    let mut header = String::new();
    let _ = writeln!(header, "{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`", 0, 0, "100644", content.len());
    archive.extend(header.into_bytes());
    archive.extend(content);
    if content.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

const CONTROL: &str = include_str!("../../dist/deb/control");
const CONFFILES: &str = include_str!("../../dist/deb/conffiles");
const COPYRIGHT: &str = include_str!("../../dist/deb/copyright");
const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("../../dist/deb/postinst")),
    ("prerm", include_str!("../../dist/deb/prerm")),
    ("postrm", include_str!("../../dist/deb/postrm")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_begin_at_even_places_behind_headers_of_sixty_bytes() {
        let mut archive = Vec::new();
        add_member(&mut archive, "a", 7, b"odd");
        add_member(&mut archive, "b", 7, b"");
        assert_eq!(archive.len(), 60 + 4 + 60);
        assert!(archive[..60].ends_with(b"100644  3         `\n"), "{archive:?}");
    }
}
