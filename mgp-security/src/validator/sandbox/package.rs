//! The rules about installing packages: they must come by their names from well-known registries, never from an
//! address.

use crate::Finding;

use super::{Arg, Call, Danger, HOLE, Marks, holds_listed, is_for_everybody, is_listed, refuse_if};

/// Judges a package that a package manager is told to install.
pub(super) fn check(call: &Call<'_>, package: &Arg) -> Result<(), Finding> {
    let is_fetched = package.marks.has(Marks::FETCHED) && package.marks.has(Marks::PROCESS);
    refuse_if(is_fetched, Danger::DownloadAndRun)?;
    refuse_if(
        is_address(call.program, &package.text)
            // A file in a place where any user may have put it.
            || package.text.contains('/') && is_for_everybody(call, &package.text),
        Danger::ForeignPackage,
    )
}

/// Judges a package that a package manager of the system is told to install, which gets the rights of root.
pub(super) fn check_system(call: &Call<'_>, package: &Arg) -> Result<(), Finding> {
    check(call, package)?;
    let text = package.text.trim();
    let lower = text.to_ascii_lowercase();
    let file =
        text.starts_with(['.', '/', '~', '\\']) || text.contains(":\\") || is_listed("package-files", &lower);
    refuse_if(file && !text.contains(HOLE), Danger::ForeignPackage)
}

/// Judges a module that `go` installs or runs: a folder, or a module of a widely used forge or domain.
pub(super) fn check_module(module: &str) -> Result<(), Finding> {
    let (path, version) = module.split_once('@').unwrap_or((module, ""));
    let host = path.split('/').next().unwrap_or("");
    let fetched = path.contains("://") || !version.is_empty() && host.contains('.') && !host.starts_with('.');
    refuse_if(fetched && !is_listed("go-hosts", host), Danger::ForeignPackage)
}

/// Judges the source of packages that a package manager is told to use.
pub(super) fn check_index(address: &str) -> Result<(), Finding> {
    let Some((_, rest)) = address.split_once("://") else { return Ok(()) };
    let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or("").to_ascii_lowercase();
    let host = authority.rsplit('@').next().unwrap_or("").split(':').next().unwrap_or("");
    let mut domains =
        std::iter::successors(Some(host), |domain| domain.split_once('.').map(|(_, rest)| rest));
    refuse_if(!domains.any(|domain| is_listed("indexes", domain)), Danger::ForeignPackage)
}

fn is_address(program: &str, package: &str) -> bool {
    let package = package.trim();
    let lower = package.to_ascii_lowercase();
    if let Some((scheme, _)) = lower.split_once("://") {
        // Images and charts have registries of their own.
        let scheme = scheme.rsplit(|c: char| c.is_whitespace() || c == '@').next().unwrap_or("");
        return !matches!(scheme, "oci" | "docker" | "docker-archive" | "file");
    }
    if holds_listed("package-addresses", &lower) || lower.starts_with("\\\\") {
        return true;
    }
    // The package managers of JavaScript take `owner/name` for a repository.
    let script = matches!(program, "npm" | "pnpm" | "yarn" | "bun" | "npx" | "pnpx" | "bunx");
    script
        && package.split('/').count() == 2
        && !package.starts_with(['@', '.', '/', '~', '-'])
        && package.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./#".contains(&b))
}
