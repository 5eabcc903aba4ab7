//! The image for containers: nothing but the programs, as a user without rights, in the layout of OCI.

use anyhow::Result;
use serde_json::json;

use super::{
    checksums::digest,
    contents::{CONFIGURATION, Contents},
    release::Release,
    targets::Target,
    tree::{FileTree, gzip},
};

/// Writes the image, as a tar archive of a layout.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let mut root = FileTree::default();
    root.add_tree("usr/bin", &contents.programs);
    root.add_tree("usr/share/doc/mgp", &contents.licences);
    root.add(CONFIGURATION, contents.configuration.clone());
    root.add("etc/passwd", USERS.as_bytes());
    root.add("etc/group", GROUPS.as_bytes());
    root.add_folder("tmp", 0o1777, 0);
    root.add_folder("var/lib/mgp", 0o700, USER);
    let layer = root.tar(release.time)?;
    let values = [("architecture", target.debian.as_str()), ("layer", &digest(&layer))];
    let config = release.filled(include_str!("../../dist/oci.json"), &values)?.into_bytes();
    let layer = gzip(&layer, release.compression)?;
    let described = |kind: &str, bytes: &[u8]| {
        let media_type = format!("application/vnd.oci.image.{kind}");
        json!({ "mediaType": media_type, "digest": format!("sha256:{}", digest(bytes)), "size": bytes.len() })
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("config.v1+json", &config),
        "layers": [described("layer.v1.tar+gzip", &layer)],
    });
    let manifest = manifest.to_string().into_bytes();
    let mut entry = described("manifest.v1+json", &manifest);
    let image = format!("{}:{}", release.names.image, release.version);
    entry["annotations"] = json!({
        "org.opencontainers.image.ref.name": release.version,
        // The name by which the image is known once it is loaded.
        "io.containerd.image.name": image,
    });
    entry["platform"] = json!({ "os": "linux", "architecture": target.debian });
    let index = json!({ "schemaVersion": 2, "manifests": [entry] });
    let mut layout = FileTree::default();
    layout.add("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.as_slice());
    layout.add("index.json", index.to_string().into_bytes());
    let blob = |bytes: &[u8]| format!("blobs/sha256/{}", digest(bytes));
    // The index that `docker load` reads where Docker keeps no layouts of OCI.
    let docker = json!([{ "Config": blob(&config), "RepoTags": [image], "Layers": [blob(&layer)] }]);
    layout.add("manifest.json", docker.to_string().into_bytes());
    for bytes in [layer, config, manifest] {
        layout.add(blob(&bytes), bytes);
    }
    release.write(&name(release, target), &layout.tar(release.time)?)
}

/// Returns the name of the image's file.
pub(super) fn name(release: &Release, target: &Target) -> String {
    format!("mgp-{}-{}.oci.tar", release.version, target.debian)
}

/// The number of the user, as images without a root have it.
pub(super) const USER: u32 = 65532;
const USERS: &str = "root:x:0:0::/:/sbin/nologin\nmgp:x:65532:65532::/var/lib/mgp:/sbin/nologin\n";
const GROUPS: &str = "root:x:0:\nmgp:x:65532:\n";

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, io::Read as _};

    use serde_json::Value;

    use super::*;
    use crate::dist::targets;

    #[test]
    fn the_image_has_its_name_and_its_blobs_for_programs_of_oci_and_for_docker() {
        let (release, target) =
            (Release::sample("image"), targets::named("aarch64-unknown-linux-musl").unwrap());
        write(&release, &target, &Contents::sample()).unwrap();
        let image = fs::read(release.folder.join(name(&release, &target))).unwrap();
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(&image[..]).entries().unwrap() {
            let mut entry = entry.unwrap();
            let (path, mut content) = (entry.path().unwrap().display().to_string(), Vec::new());
            entry.read_to_end(&mut content).unwrap();
            files.insert(path, content);
        }
        let json = |path: &str| serde_json::from_slice::<Value>(&files[path]).unwrap();
        let annotations = &json("index.json")["manifests"][0]["annotations"];
        assert_eq!(annotations["io.containerd.image.name"], "localhost/image:1.2.3");
        let docker = &json("manifest.json")[0];
        assert_eq!(docker["RepoTags"][0], "localhost/image:1.2.3");
        let config = json(docker["Config"].as_str().unwrap());
        assert_eq!(config["architecture"], "arm64");
        let layer = &files[docker["Layers"][0].as_str().unwrap()];
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&layer[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", digest(&unpacked)));
        fs::remove_dir_all(release.folder).unwrap();
    }
}
