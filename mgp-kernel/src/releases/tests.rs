//! Tests of new versions from lists that the tests sign.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::*;
use crate::test_disk::SmallDisk;

/// A folder with a program, and a list of versions beside it.
struct Scene {
    folder: TempDir,
    source: ReleaseSource,
}

const KEY_ID: &[u8] = b"Ed12345678";
const OLD: &str = "#!/bin/sh\necho mgp 0.1.0\n";

fn key(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::fs::write(folder.path().join("bin/mgp"), OLD).unwrap();
        let public = STANDARD.encode([KEY_ID, key(7).public_key().as_ref()].concat());
        let mut settings = DownloadSettings::default();
        settings.releases = Some(folder.path().join("releases.json").display().to_string());
        settings.releases_key = Some(public);
        Self { source: ReleaseSource::new(&settings).unwrap(), folder }
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("bin/mgp")
    }

    /// Writes a list, with the signature of the key of this seed.
    fn list(&self, list: &str, seed: u8) {
        let key = key(seed);
        let signed = key.sign(list.as_bytes());
        let comment = "made by a test";
        let whole = key.sign(&[signed.as_ref(), comment.as_bytes()].concat());
        let lines = [
            "untrusted comment: x".to_owned(),
            STANDARD.encode([KEY_ID, signed.as_ref()].concat()),
            format!("trusted comment: {comment}"),
            STANDARD.encode(whole.as_ref()),
        ];
        std::fs::write(self.folder.path().join("releases.json"), list).unwrap();
        std::fs::write(self.folder.path().join("releases.json.minisig"), lines.join("\n")).unwrap();
    }

    /// Publishes a version whose program is this script, for a platform, and returns the list.
    fn publish(&self, version: &str, script: &str, platform: &str) -> String {
        self.publish_as("mgp/mgp", version, script, platform)
    }

    fn publish_as(&self, name: &str, version: &str, script: &str, platform: &str) -> String {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, text, mode) in [("mgp/completions/mgp", "no program", 0o644), (name, script, 0o755)] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(mode);
            tar.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let archive = tar.into_inner().unwrap().finish().unwrap();
        let digits = mgp_types::hex::<64>(&Sha256::digest(&archive));
        std::fs::write(self.folder.path().join("mgp.tar.gz"), &archive).unwrap();
        let list = format!(
            r#"{{"version": "{version}", "archives": [{{"platform": "{platform}", "file": "mgp.tar.gz", "size": {}, "sha256": "{}"}}]}}"#,
            archive.len(),
            String::from_utf8_lossy(&digits)
        );
        self.list(&list, 7);
        list
    }

    async fn install(&self) -> Result<PathBuf> {
        let list = self.source.read().await?;
        self.source.install(&list, &self.program()).await
    }

    /// Checks that an installation fails for this reason, and leaves nothing but what was there.
    async fn refuses(&self, why: &str) {
        let refused = self.install().await.unwrap_err();
        assert!(refused.message().contains(why), "{}", refused.message());
        assert_eq!(std::fs::read_to_string(self.program()).unwrap(), OLD);
        assert_eq!(std::fs::read_dir(self.folder.path().join("bin")).unwrap().count(), 1);
    }
}

fn here() -> String {
    format!("{OS}-{ARCH}")
}

#[tokio::test]
async fn the_newest_version_takes_the_place_of_the_program_which_is_kept() {
    let scene = Scene::new();
    let new = "#!/bin/sh\necho mgp 0.2.0\n";
    scene.publish("0.2.0", new, &here());
    let former = scene.install().await.unwrap();
    assert_eq!(std::fs::read_to_string(scene.program()).unwrap(), new);
    assert_eq!(former, scene.folder.path().join("bin/mgp.former"));
    assert_eq!(std::fs::read_to_string(former).unwrap(), OLD);
    assert_eq!(std::fs::read_dir(scene.folder.path().join("bin")).unwrap().count(), 2);
}

#[test]
fn the_programs_of_a_zip_archive_are_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, name) = (folder.path().join("archive"), file_name("mgp"));
    let mut zip = zip::ZipWriter::new(File::create(&archive).unwrap());
    for (within, text, mode) in [("mgp", "new", 0o755), ("mgp/completions", "no program", 0o644)] {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(mode);
        zip.start_file(format!("{within}/{}", name.display()), options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    unpack(&archive, folder.path()).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "new");
}

#[tokio::test]
async fn a_list_that_was_not_signed_so_is_not_used() {
    let scene = Scene::new();
    let list = scene.publish("0.2.0", "#!/bin/sh\necho mgp 0.2.0\n", &here());
    scene.list(&list, 8);
    scene.refuses("not signed with the key").await;
    scene.list(&list, 7);
    std::fs::write(scene.folder.path().join("releases.json"), list.replace("0.2.0", "0.3.0")).unwrap();
    scene.refuses("not signed with the key").await;
    std::fs::write(scene.folder.path().join("releases.json.minisig"), "x").unwrap();
    scene.refuses("none of minisign").await;
    scene.list("[]", 7);
    scene.refuses("no list of versions").await;
}

#[tokio::test]
async fn an_archive_that_is_not_the_published_one_is_not_installed() {
    let scene = Scene::new();
    scene.publish("0.2.0", "#!/bin/sh\necho mgp 0.2.0\n", &here());
    let path = scene.folder.path().join("mgp.tar.gz");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    scene.refuses("is not the published file").await;
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&whole).unwrap();
    file.write_all(b"more").unwrap();
    scene.refuses("is not the published file").await;
    std::fs::remove_file(&path).unwrap();
    scene.refuses("nothing was changed").await;
}

#[tokio::test]
async fn an_archive_for_another_platform_or_without_a_program_is_not_installed() {
    let scene = Scene::new();
    scene.publish("0.2.0", "new", "plan9-mips");
    scene.refuses(&format!("not there for {}", here())).await;
    scene.publish_as("mgp/other", "0.2.0", "new", &here());
    scene.refuses("no program in it").await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_to_is_named() {
    let scene = Scene::new();
    scene.publish("0.2.0", "#!/bin/sh\necho mgp 0.2.0\n", &here());
    let list = scene.source.read().await.unwrap();
    let refused = scene.source.install(&list, Path::new("/proc/self/mgp")).await.unwrap_err();
    assert!(refused.message().contains("nothing was changed: /proc/self"), "{}", refused.message());
    assert!(refused.advice().unwrap().contains("writable"));
}

#[tokio::test]
async fn nothing_is_left_on_a_disk_that_has_no_room() {
    let scene = Scene::new();
    scene.publish("0.2.0", &"x".repeat(2 << 20), &here());
    let bin = scene.folder.path().join("bin");
    let Some(_disk) = SmallDisk::mounted(&bin, "1m") else {
        println!("no disk can be mounted here: a full one is not tested");
        return;
    };
    std::fs::write(scene.program(), OLD).unwrap();
    scene.refuses("nothing was changed").await;
}

#[test]
fn without_a_list_or_a_key_the_keys_of_the_configuration_are_named() {
    let mut settings = DownloadSettings::default();
    let refused = ReleaseSource::new(&settings).map(drop).unwrap_err();
    assert!(refused.advice().unwrap().contains("`releases_key`"));
    settings.releases = Some("https://a.example/releases.json".to_owned());
    settings.releases_key = Some("none".to_owned());
    let refused = ReleaseSource::new(&settings).map(drop).unwrap_err();
    assert!(refused.message().contains("no public key"), "{}", refused.message());
}

#[test]
fn the_place_of_a_program_tells_who_owns_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for (path, command) in [
        ("node_modules/mgp-kernel/bin/mgp", "npm"),
        ("uv/tools/mgp/bin/mgp", "uv"),
        ("Cellar/mgp/0.1.0/bin/mgp", "brew"),
        (".cargo/bin/mgp", "cargo"),
        ("nix/store/x-mgp/bin/mgp", "nix"),
    ] {
        assert!(upgrade_command(&at(path)).unwrap().starts_with(command), "{path}");
    }
    std::fs::write(at("pyvenv.cfg"), "").unwrap();
    assert!(upgrade_command(&at("bin/mgp")).unwrap().contains("pip"));
    assert_eq!(upgrade_command(&at("own/bin/mgp")), None);
}
