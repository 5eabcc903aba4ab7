//! `cargo xtask dist --names`: whether the names of packages are free, and whether the packages of others that documents name are there.

use anyhow::{Result, bail};

use super::release::DESCRIPTION;
use crate::{
    registries::{Holder, Registry, Unreachable, third_party},
    workspace::Workspace,
};

/// Asks the registries, and prints each answer.
///
/// # Errors
/// Fails if a name is taken by others or a package of others is not there, and, with [`Unreachable`], if a registry gives no answer.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    let names = workspace.names()?;
    let packages =
        [(Registry::Npm, &names.npm), (Registry::PyPi, &names.pypi), (Registry::Debian, &names.system)];
    let mut wanted: Vec<_> = packages
        .into_iter()
        .map(|(registry, name)| (registry, name.clone(), DESCRIPTION.to_owned()))
        .collect();
    for member in workspace.members().into_iter().filter(|member| member.publish.is_none()) {
        wanted.push((
            Registry::CratesIo,
            member.name.clone(),
            member.description.clone().unwrap_or_default(),
        ));
    }
    let mut answers = Answers::default();
    for (registry, name, description) in wanted {
        answers.add(registry, &name, |holder| match holder {
            Holder::Nobody => Ok("free"),
            Holder::Package(of_it) if *of_it == description => Ok("ours"),
            Holder::Package(of_it) => Err(format!("taken by: {of_it}")),
        });
    }
    for package in third_party().filter(|package| package.registry != Registry::Images) {
        answers.add(package.registry, package.name, |holder| match holder {
            Holder::Package(_) => Ok("there"),
            Holder::Nobody => Err("not there, and documents name it".to_owned()),
        });
    }
    answers.close()
}

/// What the registries answered.
#[derive(Default)]
struct Answers {
    faults: Vec<String>,
    silent: Vec<String>,
}

impl Answers {
    fn add(
        &mut self,
        registry: Registry,
        name: &str,
        judge: impl FnOnce(&Holder) -> Result<&'static str, String>,
    ) {
        self.note(registry, name, registry.holder(name).map(|holder| judge(&holder)));
    }

    fn note(&mut self, registry: Registry, name: &str, answer: Result<Result<&'static str, String>>) {
        match answer {
            Ok(Ok(good)) => println!("{good:>9}  {registry} {name}"),
            Ok(Err(fault)) => self.faults.push(format!("{registry} {name}: {fault}")),
            // Other systems have no packages of Debian.
            Err(error) if registry == Registry::Debian => println!(" left out  {registry} {name}: {error:#}"),
            Err(error) => self.silent.push(format!("{registry} {name}: {error:#}")),
        }
    }

    fn close(self) -> Result<()> {
        if !self.faults.is_empty() {
            bail!("names that are taken, or missing:\n{}", self.faults.join("\n"));
        }
        if !self.silent.is_empty() {
            bail!(Unreachable::new(format!("registries gave no answer:\n{}", self.silent.join("\n"))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_fails_otherwise_than_a_registry_that_is_silent() {
        let mut answers = Answers::default();
        answers.note(Registry::Npm, "a", Ok(Ok("free")));
        answers.note(Registry::PyPi, "b", Err(Unreachable::new("no route").into()));
        let silent = answers.close().unwrap_err();
        assert!(silent.is::<Unreachable>() && silent.to_string().contains("PyPI b: no route"), "{silent}");

        let mut answers = Answers::default();
        answers.note(Registry::PyPi, "b", Err(Unreachable::new("no route").into()));
        answers.note(Registry::PyPi, "mgp", Ok(Err("taken by: type hints".to_owned())));
        let taken = answers.close().unwrap_err();
        assert!(
            !taken.is::<Unreachable>() && taken.to_string().contains("PyPI mgp: taken by: type hints"),
            "{taken}"
        );
    }
}
