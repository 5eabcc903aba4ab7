//! The files by which registries and package managers fetch the packages from elsewhere: the formula of Homebrew, the manifests of
//! winget, the flake of Nix, `server.json` of the registry of MCP, and the list of archives that `mgp self` reads.

use std::{fmt::Write as _, fs};

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    archive,
    checksums::digest,
    release::Release,
    targets::{self, Target},
};

/// An archive that was made, here or on a machine of another system.
struct Archive {
    target: Target,
    name: String,
    digest: String,
    size: usize,
}

/// Writes the manifests, with the archives that lie among the packages of the release.
pub(super) fn write(release: &Release) -> Result<()> {
    let mut archives = Vec::new();
    for target in targets::all() {
        let name = archive::name(release, &target);
        let path = release.folder.join(&name);
        if path.exists() {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            archives.push(Archive { target, name, digest: digest(&bytes), size: bytes.len() });
        }
    }
    let put = |name: &str, template: &str, values: &[(&str, &str)]| {
        release.write(name, release.filled(template, values)?.as_bytes())
    };
    put("server.json", include_str!("../../dist/server.json"), &[])?;
    put(
        "mgp.rb",
        include_str!("../../dist/formula.rb"),
        &[("sources", &formula_sources(release, &archives))],
    )?;
    put("flake.nix", include_str!("../../dist/flake.nix"), &[("sources", &nix_sources(release, &archives))])?;
    if let Some(archive) = archives.iter().find(|archive| archive.target.os == "windows") {
        let (url, folder) = (release.url(&archive.name), release.name_for(&archive.target.triple));
        for (ending, template) in WINGET {
            let values = [("url", url.as_str()), ("digest", &archive.digest), ("folder", &folder)];
            put(&format!("{WINGET_ID}{ending}"), template, &values)?;
        }
    }
    let listed = archives.iter().map(|archive| {
        let platform = format!("{}-{}", archive.target.os, archive.target.architecture);
        json!({ "platform": platform, "file": archive.name, "size": archive.size, "sha256": archive.digest })
    });
    let list = json!({ "version": release.version, "archives": listed.collect::<Vec<_>>() });
    release.write(RELEASES, format!("{list:#}\n").as_bytes())
}

fn formula_sources(release: &Release, archives: &[Archive]) -> String {
    let mut sources = String::new();
    for Archive { target, name, digest, .. } in
        archives.iter().filter(|archive| archive.target.os != "windows")
    {
        let processor = if target.architecture == "aarch64" { "arm" } else { "intel" };
        let (os, url) = (&target.os, release.url(name));
        let _ = write!(
            sources,
            "  on_{os} do\n    on_{processor} do\n      url \"{url}\"\n      sha256 \"{digest}\"\n    end\n  end\n\n"
        );
    }
    sources.trim_end_matches('\n').to_owned() + "\n"
}

fn nix_sources(release: &Release, archives: &[Archive]) -> String {
    let mut sources = String::new();
    for Archive { target, name, digest, .. } in archives {
        let Some(system) = &target.nix else { continue };
        let url = release.url(name);
        let _ = writeln!(sources, "        {system} = {{ url = \"{url}\"; sha256 = \"{digest}\"; }};");
    }
    sources
}

/// The list of archives that `mgp self` reads.
pub(super) const RELEASES: &str = "releases.json";

/// The name by which winget knows the programs, with which the names of its manifests begin, and how each ends.
pub(super) const WINGET_ID: &str = "MGPProject.MGP";
pub(super) const WINGET: [(&str, &str); 3] = [
    (".yaml", include_str!("../../dist/winget/mgp.yaml")),
    (".installer.yaml", include_str!("../../dist/winget/mgp.installer.yaml")),
    (".locale.en-US.yaml", include_str!("../../dist/winget/mgp.locale.en-US.yaml")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifests_of_winget_have_what_each_must_have() {
        for (ending, template) in WINGET {
            let kind = template.lines().find_map(|line| line.strip_prefix("ManifestType: ")).unwrap();
            let needed: &[&str] = match kind {
                "version" => &["DefaultLocale"],
                "installer" => &["InstallerType", "NestedInstallerFiles", "Installers"],
                _ => &["PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"],
            };
            for name in ["PackageIdentifier", "PackageVersion", "ManifestVersion"].iter().chain(needed) {
                assert!(
                    template.lines().any(|line| line.starts_with(&format!("{name}:"))),
                    "{ending}: {name}"
                );
            }
            assert!(template.contains(&format!("PackageIdentifier: {WINGET_ID}\n")), "{ending}");
        }
    }
}
