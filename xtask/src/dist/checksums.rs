//! The checksums of all packages, and their signature.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use super::{manifests::RELEASES, release::Release, tree::unwritten};
use crate::process;

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Writes the checksums of all files in a folder, as `sha256sum --check` reads them.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut sums = String::new();
    for name in names(folder)? {
        let _ = writeln!(sums, "{}  {name}", digest(&fs::read(folder.join(&name))?));
    }
    let path = folder.join(SUMS);
    fs::write(&path, sums).with_context(|| unwritten(&path))
}

/// Fails unless the checksums are those of the files in a folder, and of all of them.
pub(super) fn verify(folder: &Path) -> Result<()> {
    let path = folder.join(SUMS);
    let sums = fs::read_to_string(&path).with_context(|| format!("there is no {}", path.display()))?;
    let mut unlisted = names(folder)?;
    for line in sums.lines() {
        let (expected, name) =
            line.split_once("  ").with_context(|| format!("{SUMS} has the line `{line}`"))?;
        ensure!(unlisted.remove(name), "{name} is named in {SUMS}, and is missing");
        let found = digest(&fs::read(folder.join(name))?);
        ensure!(found == expected, "{name} has the checksum {found}, and not {expected} as {SUMS} says");
    }
    match unlisted.first() {
        Some(name) => bail!("{name} is not named in {SUMS}"),
        None => Ok(()),
    }
}

/// Signs the checksums and the list of archives in a folder with a secret key of minisign, which asks for its password.
pub(super) fn sign(release: &Release, folder: &Path, key: &Path) -> Result<()> {
    process::require_installed("minisign", "the package `minisign` of your system")?;
    for name in SIGNED {
        let comment = format!("{name} of mgp {}, {}", release.version, release.date);
        let mut minisign = Command::new("minisign");
        minisign.arg("-S").arg("-s").arg(key).arg("-m").arg(folder.join(name)).args(["-t", &comment]);
        process::run(&mut minisign)?;
    }
    Ok(())
}

/// Returns the file of the public key that belongs to a secret one, and lies beside it as `minisign -G` put it there.
pub(super) fn public_key(key: &Path) -> Result<PathBuf> {
    let public = key.with_extension("pub");
    ensure!(public.is_file(), "there is no public key {} beside the secret one", public.display());
    Ok(public)
}

/// Fails unless a public key of minisign made the signatures.
pub(super) fn verify_signatures(folder: &Path, key: &Path) -> Result<()> {
    for name in SIGNED {
        let mut minisign = Command::new("minisign");
        minisign.arg("-V").arg("-q").arg("-p").arg(key).arg("-m").arg(folder.join(name));
        ensure!(process::succeeds(&mut minisign), "{name} has no signature by the key {}", key.display());
    }
    Ok(())
}

/// Returns the names of the files in a folder that the checksums are of.
fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != SUMS && !name.ends_with(".minisig") {
            names.insert(name);
        }
    }
    Ok(names)
}

const SUMS: &str = "SHA256SUMS";

/// The files with signatures; the rest is signed by its checksum.
pub(super) const SIGNED: [&str; 2] = [SUMS, RELEASES];

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("mgp-dist-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a"), "text").unwrap();
        write(&folder).unwrap();
        folder
    }

    #[test]
    fn a_changed_a_missing_and_an_added_file_are_named() {
        let folder = folder("checksums");
        verify(&folder).unwrap();
        let fault = || verify(&folder).unwrap_err().to_string();
        fs::write(folder.join("a"), "other").unwrap();
        assert!(fault().contains("a has the checksum"), "{}", fault());
        fs::rename(folder.join("a"), folder.join("b")).unwrap();
        assert!(fault().contains("a is named in SHA256SUMS, and is missing"), "{}", fault());
        fs::write(folder.join("a"), "text").unwrap();
        assert_eq!(fault(), "b is not named in SHA256SUMS");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_secret_key_without_its_public_one_is_refused() {
        let fault = public_key(Path::new("none.key")).unwrap_err().to_string();
        assert_eq!(fault, "there is no public key none.pub beside the secret one");
    }

    #[test]
    fn a_signature_that_is_missing_is_named() {
        let folder = folder("signature");
        let fault = verify_signatures(&folder, Path::new("none.pub")).unwrap_err().to_string();
        assert!(fault.starts_with("SHA256SUMS has no signature"), "{fault}");
        fs::remove_dir_all(folder).unwrap();
    }
}
