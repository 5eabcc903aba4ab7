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
    entry["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    entry["platform"] = json!({ "os": "linux", "architecture": target.debian });
    let index = json!({ "schemaVersion": 2, "manifests": [entry] });
    let mut layout = FileTree::default();
    layout.add("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.as_slice());
    layout.add("index.json", index.to_string().into_bytes());
    for blob in [layer, config, manifest] {
        layout.add(format!("blobs/sha256/{}", digest(&blob)), blob);
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
