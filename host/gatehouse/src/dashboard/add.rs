//! Adding a server: it is tested before it is saved, in a data directory of its own. Values of variables are stored in
//! the file `environment`, and no page shows them.

use std::{collections::BTreeMap, time::Duration};

use gatehouse_core::lock;
use serde_json::{Map, Value, json};

use super::{
    Query,
    snapshot::{Snapshot, SnapshotReader},
    view::{Cell, Content, Field, FieldKind, Form, Section},
};
use crate::{
    compose::{Composition, forget_failed_listings},
    config::{Config, edit, environment_file},
    control,
    import::{SecretVariables, set_keys},
    plain_error::PlainError,
};

/// Time for the server to start and to list its tools. It may have to be downloaded.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Variables that the form offers.
const MAX_VARIABLES: usize = 3;

/// A server that was tested and is not saved yet.
#[derive(Clone)]
pub(super) struct TestedServer {
    name: String,
    definition: Map<String, Value>,
    variables: BTreeMap<String, String>,
}

/// Returns the form for a new server, and the tested one with the button that saves it.
pub(super) fn sections(reader: &SnapshotReader) -> Vec<Section> {
    let mut form = Form::post("/servers/test", &[], &[("", "", "Test it")]);
    form.fields.push(Field::text("name", "Name", ""));
    form.fields.push(Field::text("reached_by", "Command line, or URL", ""));
    for number in 1..=MAX_VARIABLES {
        form.fields.push(Field::text(&format!("variable{number}"), &format!("Variable {number}"), ""));
        let value = Field::text(&format!("value{number}"), &format!("Value {number}"), "");
        form.fields.push(Field { kind: FieldKind::Secret, ..value });
    }
    let about =
        "Gatehouse starts it once, and says which tools it lists. Nothing is saved before you see that.";
    let mut sections = vec![Section::new("Add a server", Content::Form(form)).about(about)];
    if let Some(tested) = &*lock(&reader.tested) {
        let block = edit::server_block(&tested.name, &tested.definition);
        let save = Form::post("/servers/add", &[("name", &tested.name)], &[("", "", "Save in presets.toml")]);
        sections.push(Section {
            links: vec![Cell::form(save)],
            ..Section::new("Tested and not saved", Content::Text(Cell::lines(&block).text))
        });
    }
    sections
}

/// Starts a server, and returns what it lists or why it does not.
pub(super) async fn test(reader: &SnapshotReader, form: &Query) -> Result<String, PlainError> {
    let (global, env) = reader.origin();
    let (name, reached_by) = (form.get("name").trim(), form.get("reached_by").trim());
    let variables = (1..=MAX_VARIABLES).map(|number| {
        let field = |kind: &str| form.get(&format!("{kind}{number}"));
        (field("variable").trim().to_owned(), field("value").to_owned())
    });
    let variables: BTreeMap<String, String> = variables.filter(|(name, _)| !name.is_empty()).collect();
    let references: Map<String, Value> =
        variables.keys().map(|name| (name.clone(), format!("${{{name}}}").into())).collect();
    let definition = if reached_by.starts_with("http://") || reached_by.starts_with("https://") {
        if !variables.is_empty() {
            bail!("a server at a URL has no variables: use `gatehouse servers add`, with headers");
        }
        set_keys([("url", reached_by.into())])
    } else {
        let words = shlex::split(reached_by).unwrap_or_default();
        let (command, arguments) = words.split_first().ok_or("enter a command line or a URL")?;
        set_keys([
            ("command", command.as_str().into()),
            ("args", json!(arguments)),
            ("env", references.into()),
        ])
    };
    let mut secrets = SecretVariables::default();
    secrets.extract(name, "the command line or URL", &mut definition.clone());
    if let Some((_, place)) = secrets.into_variables().first() {
        bail!("{place} looks like a secret: enter it as a variable, and write ${{NAME}} in its place");
    }
    if let Some(variable) = variables
        .iter()
        .find_map(|(name, value)| env.secret(name).filter(|other| other.reveal() != value).map(|_| name))
    {
        bail!("{variable} has another value already, which other servers may need; choose another name");
    }
    let text = global.locate_config(env)?.text;
    if text.file.is_none() {
        bail!("there is no presets.toml to save it in: use `gatehouse servers add`, which needs none");
    }
    let change = edit::add_servers(&text, &BTreeMap::from([(name, &definition)]), env)?;
    let folder =
        tempfile::tempdir().map_err(|error| format!("cannot make a directory for the test: {error}"))?;
    let env = env.with_variables(&variables);
    let config = Config::from_text(&change.text(), global.gates.as_deref(), Some(folder.path()), &env)?;
    let mut composition = Composition::new(config, &env)?;
    composition.first_listings.wait = Some(TEST_TIMEOUT);
    let failed = composition.list_servers(&|server| *server.name == *name).await;
    let known = composition.known_servers().await;
    composition.stores.close().await;
    if let Some((_, reason)) = failed.first() {
        bail!("'{name}' does not work, and is not saved: {reason}");
    }
    let known = known?;
    let listing = known.get(name).and_then(|server| server.listing.as_ref());
    let listing = listing.ok_or("it did not list its tools, and is not saved")?;
    let tools: Vec<&str> = listing.listing.tools.iter().map(|tool| &*tool.name).collect();
    let report = format!("'{name}' works: {} tools. {}", tools.len(), tools.join(", "));
    *lock(&reader.tested) = Some(TestedServer { name: name.to_owned(), definition, variables });
    Ok(report)
}

/// Saves the server that was tested last.
pub(super) async fn save(
    reader: &SnapshotReader,
    snapshot: &Snapshot,
    form: &Query,
) -> Result<String, PlainError> {
    let (global, env) = reader.origin();
    let tested = lock(&reader.tested).clone().filter(|tested| tested.name == form.get("name"));
    let TestedServer { name, definition, variables } = tested.ok_or("test the server before you save it")?;
    let text = global.locate_config(env)?.text;
    let change = edit::add_servers(&text, &BTreeMap::from([(name.as_str(), &definition)]), env)?;
    if !variables.is_empty() {
        environment_file::write(&variables)?;
    }
    change.write_trusted(&snapshot.composition.config)?;
    *lock(&reader.tested) = None;
    forget_failed_listings(&snapshot.composition.config.state);
    control::reload(&snapshot.composition.config.state, &snapshot.config_file()).await;
    let restart = if variables.is_empty() { "" } else { " Hosts read its variables at their next start." };
    Ok(format!("'{name}' is in presets.toml. Add it to `servers` of a preset to show its tools.{restart}"))
}
