//! The files by which package managers install the archives that lie beside them: the formula of Homebrew, the flake of Nix, and the
//! list of archives that `mgp self` reads.

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
    let values = [("class", &*class(&release.names.system)), ("sources", &formula_sources(&archives))];
    put(&formula_name(release), include_str!("../../dist/formula.rb"), &values)?;
    put("flake.nix", include_str!("../../dist/flake.nix"), &[("sources", &nix_sources(&archives))])?;
    let listed = archives.iter().map(|archive| {
        let platform = format!("{}-{}", archive.target.os, archive.target.architecture);
        json!({ "platform": platform, "file": archive.name, "size": archive.size, "sha256": archive.digest })
    });
    let list = json!({ "version": release.version, "archives": listed.collect::<Vec<_>>() });
    release.write(RELEASES, format!("{list:#}\n").as_bytes())
}

fn formula_sources(archives: &[Archive]) -> String {
    let mut sources = String::new();
    for Archive { target, name, digest, .. } in
        archives.iter().filter(|archive| archive.target.os != "windows")
    {
        let processor = if target.architecture == "aarch64" { "arm" } else { "intel" };
        let os = &target.os;
        let _ = write!(
            sources,
            "  on_{os} do\n    on_{processor} do\n      url \"file://#{{__dir__}}/{name}\"\n      sha256 \"{digest}\"\n    end\n  end\n\n"
        );
    }
    sources.trim_end_matches('\n').to_owned() + "\n"
}

fn nix_sources(archives: &[Archive]) -> String {
    let mut sources = String::new();
    for Archive { target, name, .. } in archives {
        let Some(system) = &target.nix else { continue };
        let _ = writeln!(sources, "        {system} = ./{name};");
    }
    sources
}

/// Returns the name of the formula's file.
pub(super) fn formula_name(release: &Release) -> String {
    format!("{}.rb", release.names.system)
}

/// Returns the name that Homebrew gives to the class of a formula: `OfTwo` for `of-two`.
fn class(name: &str) -> String {
    name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// The list of archives that `mgp self` reads.
pub(super) const RELEASES: &str = "releases.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_and_the_flake_name_the_archives_beside_them() {
        let release = Release::sample("manifests");
        for target in targets::all() {
            fs::write(release.folder.join(archive::name(&release, &target)), target.triple.as_bytes())
                .unwrap();
        }
        write(&release).unwrap();
        let read = |name: &str| fs::read_to_string(release.folder.join(name)).unwrap();
        let (formula, flake) = (read("on-systems.rb"), read("flake.nix"));
        assert!(formula.starts_with("class OnSystems < Formula\n"), "{formula}");
        for archive in ["mgp-1.2.3-x86_64-unknown-linux-musl.tar.gz", "mgp-1.2.3-aarch64-apple-darwin.tar.gz"]
        {
            assert!(formula.contains(&format!("url \"file://#{{__dir__}}/{archive}\"\n")), "{formula}");
            assert!(flake.contains(&format!(" = ./{archive};\n")), "{flake}");
        }
        assert!(!formula.contains("windows"), "{formula}");
        fs::remove_dir_all(release.folder).unwrap();
    }
}
