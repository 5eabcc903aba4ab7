use mgp_types::Object;

use super::*;
use crate::definition::pinned_for;
use crate::doubles::{database, fill, shared_databases};

fn observe(
    pins: &PinnedDefinitions,
    holder: &ServerId,
    kind: DefinitionKind,
    listed: &[Definition],
) -> Result<Vec<Option<DefinitionStatus>>, StoreError> {
    pins.observe(holder, kind, listed, &ConfiguredServer::default())
}

fn server() -> ServerId {
    ServerId::new("files")
}

fn tool(name: &str, description: &str) -> Definition {
    read(DefinitionKind::Tool, name, description)
}

fn read(kind: DefinitionKind, name: &str, description: &str) -> Definition {
    let member = kind.name_member();
    let json = format!(r#"{{"{member}":"{name}","description":"{description}"}}"#);
    Definition::read(kind, &Object::parse(json).unwrap()).unwrap()
}

fn asking_pins() -> (Database, PinnedDefinitions) {
    let database = database();
    (database.clone(), PinnedDefinitions::load(database).unwrap())
}

fn trusting_pins() -> (Database, PinnedDefinitions) {
    let (database, pins) = asking_pins();
    (database, pins.trusting_first_lists())
}

fn verdicts(pins: &PinnedDefinitions, listed: &[Definition]) -> Vec<Option<DefinitionStatus>> {
    observe(pins, &server(), DefinitionKind::Tool, listed).unwrap()
}

#[test]
fn trust_on_first_use_approves_at_once() {
    let (_, pins) = trusting_pins();
    assert_eq!(verdicts(&pins, &[tool("read", "a")]), [None]);
    assert_eq!(verdicts(&pins, &[tool("read", "a")]), [None]);
    assert!(pins.is_approved(&server(), DefinitionKind::Tool, "read"));
}

#[test]
fn what_a_server_adds_to_its_first_list_waits_unless_it_is_trusted_to_grow() {
    let (database, pins) = trusting_pins();
    let read = tool("read", "a");
    verdicts(&pins, std::slice::from_ref(&read));
    for added in ["read_v2", "Read", "send_all"] {
        let added = tool(added, "b");
        for listed in [vec![read.clone(), added.clone()], vec![added.clone()]] {
            let found = verdicts(&pins, &listed);
            assert!(found.contains(&Some(DefinitionStatus::New)), "{found:?}");
        }
        assert!(!pins.is_approved(&server(), DefinitionKind::Tool, added.name().as_str()));
    }
    let pins = PinnedDefinitions::load(database).unwrap().trusting_first_lists();
    let later = tool("later", "c");
    assert_eq!(verdicts(&pins, std::slice::from_ref(&later))[0], Some(DefinitionStatus::New));
    let grows = ConfiguredServer { grows: true, ..ConfiguredServer::default() };
    let newest = tool("newest", "d");
    let found = pins.observe(&server(), DefinitionKind::Tool, std::slice::from_ref(&newest), &grows);
    assert_eq!(found.unwrap()[0], None);
    let prompt = self::read(DefinitionKind::Prompt, "ask", "a");
    let found = observe(&pins, &server(), DefinitionKind::Prompt, &[prompt]).unwrap();
    assert_eq!(found[0], None, "the first list of another kind");
}

#[test]
fn a_new_tool_waits_where_asking_is_the_policy() {
    let (_, pins) = asking_pins();
    let read = tool("read", "a");
    for _ in 0..2 {
        assert_eq!(verdicts(&pins, std::slice::from_ref(&read)), [Some(DefinitionStatus::New)]);
        assert!(!pins.is_approved(&server(), DefinitionKind::Tool, read.name().as_str()));
    }
    pins.approve(&server(), read.name(), read.digest()).unwrap();
    assert!(pins.is_approved(&server(), DefinitionKind::Tool, read.name().as_str()));
    assert_eq!(verdicts(&pins, &[read]), [None]);
}

#[test]
fn a_changed_tool_is_quarantined_until_approved_again() {
    let (_, pins) = trusting_pins();
    verdicts(&pins, &[tool("read", "a")]);
    let changed = tool("read", "b");
    for _ in 0..2 {
        assert_eq!(verdicts(&pins, std::slice::from_ref(&changed)), [Some(DefinitionStatus::Changed)]);
        assert!(!pins.is_approved(&server(), DefinitionKind::Tool, changed.name().as_str()));
    }
    assert_eq!(pins.waiting(DefinitionKind::Tool).len(), 1);
    pins.approve(&server(), changed.name(), changed.digest()).unwrap();
    assert_eq!(verdicts(&pins, &[changed]), [None]);
    assert!(pins.waiting(DefinitionKind::Tool).is_empty());
}

#[test]
fn a_prompt_is_none_of_the_tools_of_its_name() {
    let (_, pins) = trusting_pins();
    verdicts(&pins, &[tool("read", "a")]);
    let prompt = read(DefinitionKind::Prompt, "read", "b");
    let observe = |prompt: &Definition| {
        observe(&pins, &server(), DefinitionKind::Prompt, std::slice::from_ref(prompt)).unwrap()
    };
    assert_eq!(observe(&prompt), [None]);
    let changed = read(DefinitionKind::Prompt, "read", "c");
    assert_eq!(observe(&changed), [Some(DefinitionStatus::Changed)]);
    assert!(pins.is_approved(&server(), DefinitionKind::Tool, "read"));
    assert!(!pins.is_approved(&server(), DefinitionKind::Prompt, "read"));
    pins.approve(&server(), changed.name(), changed.digest()).unwrap();
    assert!(pins.is_approved(&server(), DefinitionKind::Prompt, "read"));
}

#[test]
fn a_tool_that_returns_to_its_approved_definition_is_released() {
    let (_, pins) = trusting_pins();
    verdicts(&pins, &[tool("read", "a")]);
    verdicts(&pins, &[tool("read", "b")]);
    assert_eq!(verdicts(&pins, &[tool("read", "a")]), [None]);
    assert!(pins.is_approved(&server(), DefinitionKind::Tool, "read"));
    assert!(pins.waiting(DefinitionKind::Tool).is_empty());
}

#[test]
fn what_has_changed_again_is_not_what_was_approved() {
    let (_, pins) = trusting_pins();
    verdicts(&pins, &[tool("read", "a")]);
    let (seen, now) = (tool("read", "b"), tool("read", "c"));
    verdicts(&pins, std::slice::from_ref(&seen));
    verdicts(&pins, std::slice::from_ref(&now));
    let refused = pins.approve(&server(), seen.name(), seen.digest());
    assert!(matches!(refused, Err(ApproveError::OtherPending(digest)) if digest == now.digest()));
    assert!(!pins.is_approved(&server(), DefinitionKind::Tool, seen.name().as_str()));
    let unknown = pins.approve(&server(), &"write".into(), seen.digest());
    assert!(matches!(unknown, Err(ApproveError::NothingPending)));
}

#[test]
fn a_tool_that_went_away_comes_back_as_it_was_or_changed() {
    let (_, pins) = trusting_pins();
    verdicts(&pins, &[tool("read", "a"), tool("write", "a")]);
    assert_eq!(verdicts(&pins, &[tool("write", "a")]), [None]);
    assert_eq!(verdicts(&pins, &[tool("read", "b"), tool("write", "a")])[0], Some(DefinitionStatus::Changed));
}

#[test]
fn a_quarantine_survives_a_restart() {
    let (database, before) = trusting_pins();
    verdicts(&before, &[tool("read", "a")]);
    verdicts(&before, &[tool("read", "b")]);
    drop(before);
    let after = PinnedDefinitions::load(database.clone()).unwrap().trusting_first_lists();
    assert!(!after.is_approved(&server(), DefinitionKind::Tool, "read"));
    assert_eq!(verdicts(&after, &[tool("read", "b")])[0], Some(DefinitionStatus::Changed));
    after.approve(&server(), &"read".into(), tool("read", "b").digest()).unwrap();
    let last = PinnedDefinitions::load(database).unwrap().trusting_first_lists();
    assert!(last.is_approved(&server(), DefinitionKind::Tool, "read"));
}

#[test]
fn a_server_cannot_have_pins_without_end() {
    let (_, pins) = trusting_pins();
    let many: Vec<_> = (0..MAX_OF_KIND).map(|index| tool(&format!("tool{index}"), "a")).collect();
    // One after the other would take long; the bound is what is tested here.
    let approved = |it: &Definition| (it.name().as_str().into(), PinState::Approved(it.clone()));
    let mut kinds = ByKind::default();
    kinds[DefinitionKind::Tool as usize] = Arc::new(many.iter().map(approved).collect());
    pins.snapshot.store(Arc::new(Snapshot {
        servers: std::iter::once((server(), kinds)).collect(),
        beside: Arc::default(),
    }));
    assert_eq!(
        verdicts(&pins, &[many[7].clone(), tool("one_more", "a")])[..2],
        [None, Some(DefinitionStatus::Refused("too-many-tools"))]
    );
}

#[test]
fn what_the_store_does_not_have_is_not_approved() {
    let pins = {
        let (database, pins) = trusting_pins();
        fill(&database, "definition_pins", "true");
        pins
    };
    assert!(observe(&pins, &server(), DefinitionKind::Tool, &[tool("read", "a")]).is_err());
    assert!(!pins.is_approved(&server(), DefinitionKind::Tool, "read"));
}

#[test]
fn what_one_agents_connection_lists_is_judged_by_what_was_approved_for_that_agent() {
    let (_, pins) = trusting_pins();
    let [ada, bob] = ["ada", "bob"].map(|agent| pinned_for(&server(), agent));
    let judged = |holder, definition: &Definition| {
        observe(&pins, holder, DefinitionKind::Tool, std::slice::from_ref(definition)).unwrap().remove(0)
    };
    let (hers, his) = (tool("read", "hers"), tool("read", "his"));
    assert_eq!(judged(&ada, &hers), None);
    assert_eq!(judged(&bob, &his), None);
    // It stands approved elsewhere, and is another one here.
    assert_eq!(judged(&bob, &hers), Some(DefinitionStatus::Changed));
    assert!(
        !pins.is_approved(&bob, DefinitionKind::Tool, his.name().as_str())
            && pins.is_approved(&ada, DefinitionKind::Tool, hers.name().as_str())
    );
}

#[test]
fn what_was_approved_for_one_agent_need_not_be_approved_for_another_that_lists_the_same() {
    let (database, pins) = asking_pins();
    let [ada, bob] = ["ada", "bob"].map(|agent| pinned_for(&server(), agent));
    let read = tool("read", "a");
    for holder in [&ada, &bob] {
        observe(&pins, holder, DefinitionKind::Tool, std::slice::from_ref(&read)).unwrap();
    }
    pins.approve(&ada, read.name(), read.digest()).unwrap();
    assert!(!pins.is_approved(&bob, DefinitionKind::Tool, read.name().as_str()), "it was not listed since");
    observe(&pins, &bob, DefinitionKind::Tool, std::slice::from_ref(&read)).unwrap();
    assert!(pins.is_approved(&bob, DefinitionKind::Tool, read.name().as_str()));
    let again = PinnedDefinitions::load(database).unwrap();
    assert!(again.is_approved(&bob, DefinitionKind::Tool, read.name().as_str()));
    let eve = pinned_for(&ServerId::new("file"), "eve");
    observe(&pins, &eve, DefinitionKind::Tool, std::slice::from_ref(&read)).unwrap();
    assert!(!pins.is_approved(&eve, DefinitionKind::Tool, read.name().as_str()), "that is another server");
}

#[test]
fn what_was_approved_for_a_server_as_a_whole_is_what_an_agents_connection_is_held_to() {
    let (_, pins) = trusting_pins();
    verdicts(&pins, &[tool("read", "a")]);
    let ada = pinned_for(&server(), "ada");
    let changed = observe(&pins, &ada, DefinitionKind::Tool, &[tool("read", "b")]).unwrap();
    assert_eq!(changed[0], Some(DefinitionStatus::Changed));
    assert!(pins.is_approved(&server(), DefinitionKind::Tool, "read"));
    let mended = observe(&pins, &ada, DefinitionKind::Tool, &[tool("read", "a")]).unwrap();
    assert_eq!(mended[0], None);
    assert!(pins.is_approved(&ada, DefinitionKind::Tool, "read"));
}

#[test]
fn what_is_approved_at_one_kernel_is_approved_at_the_other() {
    let databases = shared_databases::<2>();
    let [one, other] =
        databases.each_ref().map(|database| PinnedDefinitions::load(database.clone()).unwrap());
    let read = tool("read", "a");
    for pins in [&one, &other] {
        assert_eq!(verdicts(pins, std::slice::from_ref(&read)), [Some(DefinitionStatus::New)]);
    }
    one.approve(&server(), read.name(), read.digest()).unwrap();
    assert!(!other.is_approved(&server(), DefinitionKind::Tool, "read"));
    assert!(databases[1].catch_up().unwrap().contains("definition"));
    other.reload().unwrap();
    assert!(other.is_approved(&server(), DefinitionKind::Tool, "read"));
    // What one has seen change, the other cannot have approved by its older state.
    let changed = tool("read", "b");
    assert_eq!(verdicts(&one, std::slice::from_ref(&changed)), [Some(DefinitionStatus::Changed)]);
    let later = tool("read", "c");
    assert_eq!(verdicts(&other, std::slice::from_ref(&later)), [Some(DefinitionStatus::Changed)]);
    assert_eq!(other.all()[0].1, PinState::Changed { approved: read, pending: later.clone() });
    let refused = one.approve(&server(), changed.name(), changed.digest());
    assert!(matches!(refused, Err(ApproveError::OtherPending(digest)) if digest == later.digest()));
}

#[test]
fn a_first_list_is_trusted_as_a_whole_and_once_over_all_kernels() {
    let pins = shared_databases::<3>()
        .map(|database| PinnedDefinitions::load(database).unwrap().trusting_first_lists());
    let listed = [tool("read", "a"), tool("write", "a")];
    for pins in &pins[..2] {
        assert_eq!(verdicts(pins, &listed), [None, None]);
    }
    let others = [tool("write", "b"), tool("send", "b")];
    assert_eq!(verdicts(&pins[2], &others), [Some(DefinitionStatus::Changed), Some(DefinitionStatus::New)]);
    assert!(pins[2].is_approved(&server(), DefinitionKind::Tool, "read"));
}
