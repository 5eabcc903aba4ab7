//! The rules about deleting whole trees in any notation, and the files that a search selects.

use crate::Finding;

use super::super::{Arg, CommandPolicy, Danger, HOLE, Marks, Place, is_listed, refuse_if};
use super::Call;

pub(super) fn check(call: &Call<'_>, policy: &CommandPolicy) -> Result<(), Finding> {
    if is_listed("deleting", call.program) {
        return remove(call, policy);
    }
    let deletes = is_listed("searching", call.program) && call.has("-delete");
    if deletes { found(call, &Search::of(call)) } else { Ok(()) }
}

/// Judges `find .. -delete`.
fn found(call: &Call<'_>, search: &Search<'_>) -> Result<(), Finding> {
    let in_system = |root: &Arg| {
        let place = call.place(&root.text);
        place.is_system() && place.as_str() != "/"
    };
    refuse_if(search.unfiltered, Danger::RecursiveDelete)?;
    let begins_in_system =
        search.roots.iter().any(in_system) || (search.roots.is_empty() && in_system(&Arg::new(".")));
    refuse_if(begins_in_system, Danger::SystemPath)
}

/// The facts about the files that a `find` selects.
#[expect(clippy::struct_excessive_bools, reason = "each is true or not, whatever the others are")]
pub(in super::super) struct Search<'a> {
    /// The paths at which it begins.
    roots: &'a [Arg],
    /// True if it selects all files of a tree: no test restricts the selection, or the tree is too large for a weak
    /// test.
    pub(in super::super) unfiltered: bool,
    /// True if it begins only in directories that may be deleted as a whole.
    pub(in super::super) below_here: bool,
    /// True if it selects only names that a build or an installation creates again, where deleting is allowed.
    pub(in super::super) rebuilt: bool,
    /// True if it looks for keys, tokens or passwords by their names.
    pub(in super::super) for_secrets: bool,
    /// True if it begins in a place with keys.
    pub(in super::super) in_secret: bool,
}

impl<'a> Search<'a> {
    pub(in super::super) fn of(call: &Call<'a>) -> Self {
        let end = call.args.iter().position(|arg| arg.text.starts_with(['-', '(', '!']));
        let roots = &call.args[..end.unwrap_or(call.args.len())];
        let places: Vec<Place> = roots.iter().map(|root| call.place(&root.text)).collect();
        let here = call.place(".");
        let vast = places.iter().any(Place::is_vast) || (roots.is_empty() && here.is_vast());
        let known = roots.iter().all(Arg::is_known);
        let unfiltered = !is_narrow(call, vast);
        let chosen = !unfiltered
            && known
            && !here.is_vast()
            && !places.iter().any(|place| place.is_vast() || place.is_system() || place.climbs());
        let values_of = |options: &'static [&'static str]| {
            let pairs = call.args.windows(2).filter(move |two| options.contains(&two[0].text.as_str()));
            pairs.map(|two| two[1].text.as_str())
        };
        let negated = call.args.iter().any(|arg| matches!(arg.text.as_str(), "!" | "-not"));
        let mut names = values_of(&["-name", "-iname"]).peekable();
        let is_secret = |name: &str| {
            let key = name.starts_with("id_") && !name.ends_with("pub");
            is_listed("secret-patterns", &name.replace('*', "%"))
                || key && call.place(&format!("~/.ssh/{name}")).is_secret()
                || Place::new(name, "").is_secret()
        };
        Self {
            roots,
            unfiltered,
            below_here: !roots.is_empty() && known && places.iter().all(is_own),
            rebuilt: chosen
                && !negated
                && names.peek().is_some()
                && names.all(|name| Place::new(name, "").is_rebuilt()),
            for_secrets: values_of(&["-name", "-iname", "-path", "-wholename"]).any(is_secret),
            in_secret: places.iter().any(Place::is_secret),
        }
    }
}

/// Returns whether the place is a named tree below the working directory, or one that programs can fill again.
fn is_own(place: &Place) -> bool {
    place.is_below_here() || place.is_refillable()
}

/// Returns whether a test of a `find` restricts the files that it selects; in a vast tree, weak tests do not count.
fn is_narrow(call: &Call<'_>, vast: bool) -> bool {
    let mut args = call.args.iter().map(|arg| arg.text.as_str()).peekable();
    let mut negated = false;
    while let Some(test) = args.next() {
        if matches!(test, "!" | "-not") {
            negated = true;
            continue;
        }
        let value = args.peek().copied().unwrap_or("");
        if is_listed("find-actions", test) && !matches!(value, "test" | "[" | "grep") {
            break;
        }
        let narrow = match test {
            // Deleting links only removes names.
            "-type" => value == "l",
            "-maxdepth" => value == "0" || (value == "1" && !vast),
            _ if is_listed("find-names", test) => !value.chars().all(|c| "*.?/+".contains(c)),
            _ => is_listed("find-narrow", test) || is_listed("find-weak", test) && !vast,
        };
        if narrow && !(negated && vast) {
            return true;
        }
        negated = false;
    }
    // `fd pattern` selects by its first operand.
    call.program != "find" && call.operands().next().is_some_and(|arg| arg.text != ".")
}

fn remove(call: &Call<'_>, policy: &CommandPolicy) -> Result<(), Finding> {
    if call.args.iter().any(|arg| matches!(arg.text.as_str(), "--help" | "--version")) {
        return Ok(());
    }
    for arg in call.args {
        let place = call.place(&arg.text);
        refuse_if(place.is_device(), Danger::Device)?;
        refuse_if(arg.is_option() && arg.text.contains(HOLE), Danger::Undecidable)?;
        refuse_if(place.is_log(), Danger::LogWiping)?;
        let is_vast =
            arg.marks.has(Marks::EVERYTHING) || (place.is_vast() && !arg.is_option() && !is_own(&place));
        refuse_if(is_vast, Danger::RecursiveDelete)?;
        refuse_if(place.is_system(), Danger::SystemPath)?;
        // Overwritten files cannot be recovered, and there is seldom a second copy of a key.
        let outside = place.as_str().starts_with('~') || place.climbs();
        let is_lost =
            !arg.is_option() && outside && (is_listed("overwriting", call.program) || place.is_secret());
        refuse_if(is_lost, Danger::Destruction)?;
    }
    let whole = is_listed("deleting-trees", call.program);
    let recursive = whole || call.gives("-r,-R,--recursive,--no-preserve-root");
    let own = |arg: &Arg| {
        is_rebuilt(call, arg) || (arg.is_known() && policy.is_scratch(call.place(&arg.text).as_str()))
    };
    let is_foreign = recursive && !(call.operands().next().is_some() && call.operands().all(own));
    refuse_if(is_foreign, Danger::RecursiveDelete)
}

/// Returns whether the argument is a tree below the working directory that a build or an installation creates again.
fn is_rebuilt(call: &Call<'_>, arg: &Arg) -> bool {
    if arg.marks.has(Marks::REBUILT) && arg.text == "\0" {
        return true;
    }
    let directory = call.files.directory;
    let here = Place::new(directory, "");
    arg.text.split(HOLE).count() == 1
        && Place::new(&arg.text, "").is_rebuilt()
        && (directory.is_empty() || !(here.is_vast() || here.is_system()))
        && !directory.contains(HOLE)
}
