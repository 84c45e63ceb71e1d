//! The tasks of P17: the calls of a model that does them step by step, and the equivalent script.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::p17_tasks::{BenchTask, ServerToolCall, TaskTurn};
use super::reference::ReferenceServers;
use super::server::BenchServer;
use super::tokens::call_texts;

const ORDERS: usize = 24;
const CUSTOMERS: usize = 200;
const ZONES: [&str; 10] = [
    "Asia/Tokyo",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Africa/Nairobi",
    "Asia/Kolkata",
    "Australia/Sydney",
    "Pacific/Auckland",
    "America/Los_Angeles",
    "Europe/Lisbon",
];

fn amount(order: usize) -> usize {
    order * 37 % 101
}

fn customer(number: usize) -> String {
    format!("customer-{number:03}")
}

/// Returns the customers in the complaints file: every seventh.
fn complained() -> impl Iterator<Item = usize> {
    (0..CUSTOMERS).step_by(7)
}

fn spent(customer: usize) -> usize {
    customer * 53 % 1_000
}

pub(super) fn prepare(references: &ReferenceServers, sqlite: &mut BenchServer) -> Result<()> {
    let orders = references.folder().join("files/orders");
    fs::create_dir_all(&orders).with_context(|| format!("cannot create {}", orders.display()))?;
    for order in 1..=ORDERS {
        let lines =
            (1..=12).map(|line| format!("item {line}: a part that was ordered, in stock, sent by post\n"));
        let text = format!("order: {order}\namount: {}\n{}", amount(order), lines.collect::<String>());
        fs::write(orders.join(format!("order-{order:02}.txt")), text)?;
    }
    let names: Vec<String> = complained().map(customer).collect();
    fs::write(references.folder().join("files/complaints.txt"), names.join("\n") + "\n")?;
    for commit in 1..=12 {
        let file = if commit % 4 == 0 { "limits.txt" } else { "notes.txt" };
        references.commit(file, &format!("change {commit}\n").repeat(20), &format!("Change {commit}"))?;
    }
    call_texts(
        sqlite,
        "create_table",
        json!({"query": "CREATE TABLE spending (customer TEXT, euros INTEGER)"}),
    )?;
    let rows: Vec<String> =
        (0..CUSTOMERS).map(|number| format!("('{}', {})", customer(number), spent(number))).collect();
    let insert = format!("INSERT INTO spending VALUES {}", rows.join(", "));
    call_texts(sqlite, "write_query", json!({"query": insert}))?;
    Ok(())
}

pub(super) fn all(references: &ReferenceServers) -> Vec<BenchTask> {
    let place = references.folder().display().to_string();
    vec![
        sum_of_files(&place),
        commits_of_a_file(&place),
        join_and_remember(&place),
        zones(),
        one_file(&place),
    ]
}

/// Returns a turn whose calls depend on no reply.
fn fixed_turn(calls: Vec<ServerToolCall>) -> TaskTurn {
    Box::new(move |_| calls.clone())
}

fn sum_of_files(place: &str) -> BenchTask {
    let folder = format!("{place}/files/orders");
    let orders_folder = folder.clone();
    let read = move |replies: &[String]| {
        let names = replies[0].lines().filter_map(|line| line.strip_prefix("[FILE] "));
        let call =
            |name| ("filesystem", "read_text_file", json!({"path": format!("{orders_folder}/{name}")}));
        names.map(call).collect()
    };
    BenchTask {
        about: "the sum of an amount in 24 files",
        wanted: &[
            ("list the files of a folder", "filesystem", "list_directory"),
            ("read the text of a file on disk", "filesystem", "read_text_file"),
        ],
        turns: vec![
            fixed_turn(vec![("filesystem", "list_directory", json!({"path": folder}))]),
            Box::new(read),
        ],
        script: format!(
            "const folder = {folder:?};\n\
             const listing = await tools.filesystem.list_directory({{ path: folder }});\n\
             const names = listing.content.split(\"\\n\").map((line) => line.replace(\"[FILE] \", \"\"));\n\
             const files = await Promise.all(names.map((name) => tools.filesystem.read_text_file({{ path: `${{folder}}/${{name}}` }})));\n\
             return files.reduce((sum, file) => sum + Number(/amount: (\\d+)/.exec(file.content)[1]), 0);"
        ),
        answer: (1..=ORDERS).map(amount).sum::<usize>().into(),
    }
}

fn commits_of_a_file(place: &str) -> BenchTask {
    let repository = format!("{place}/repository");
    let repo_path = repository.clone();
    let show = move |replies: &[String]| {
        let hashes = replies[0].lines().filter_map(|line| line.strip_prefix("Commit: "));
        let call = |hash: &str| ("git", "git_show", json!({"repo_path": repo_path, "revision": hash}));
        hashes.map(call).collect()
    };
    BenchTask {
        about: "which of 12 commits touched a file",
        wanted: &[
            ("history of commits of a repository", "git", "git_log"),
            ("show the contents of a commit", "git", "git_show"),
        ],
        turns: vec![
            fixed_turn(vec![("git", "git_log", json!({"repo_path": repository, "max_count": 12}))]),
            Box::new(show),
        ],
        script: format!(
            "const repo_path = {repository:?};\n\
             const log = await tools.git.git_log({{ repo_path, max_count: 12 }});\n\
             const commits = [...log.matchAll(/Commit: (\\w+)[^]*?Message: (.*)/g)];\n\
             const shown = await Promise.all(commits.map(([, revision]) => tools.git.git_show({{ repo_path, revision }})));\n\
             return commits.filter((_, i) => shown[i].includes(\"limits.txt\")).map(([,, message]) => message);"
        ),
        answer: json!(["Change 12", "Change 8", "Change 4"]),
    }
}

fn join_and_remember(place: &str) -> BenchTask {
    let customers: Vec<String> = complained().filter(|number| spent(*number) > 900).map(customer).collect();
    let query = "SELECT customer, euros FROM spending";
    let path = format!("{place}/files/complaints.txt");
    let entity =
        |name: &String| json!({"name": name, "entityType": "customer", "observations": ["complained"]});
    let entities: Vec<Value> = customers.iter().map(entity).collect();
    BenchTask {
        about: "rows of a database that are in a file, remembered",
        wanted: &[
            ("query the rows of a database", "sqlite", "read_query"),
            ("read the text of a file on disk", "filesystem", "read_text_file"),
            ("add entities to the knowledge graph", "memory", "create_entities"),
        ],
        turns: vec![
            fixed_turn(vec![
                ("sqlite", "read_query", json!({"query": query})),
                ("filesystem", "read_text_file", json!({"path": path})),
            ]),
            fixed_turn(vec![("memory", "create_entities", json!({"entities": entities}))]),
        ],
        script: format!(
            "const [rows, file] = await Promise.all([\n  \
               tools.sqlite.read_query({{ query: {query:?} }}),\n  \
               tools.filesystem.read_text_file({{ path: {path:?} }}),\n\
             ]);\n\
             const complained = new Set(file.content.split(\"\\n\"));\n\
             const found = [...rows.matchAll(/'customer': '([^']+)', 'euros': (\\d+)/g)]\n  \
               .filter(([, name, euros]) => complained.has(name) && +euros > 900).map(([, name]) => name);\n\
             await tools.memory.create_entities({{ entities: found.map((name) => ({{ name, entityType: \"customer\", observations: [\"complained\"] }})) }});\n\
             return found;"
        ),
        answer: json!(customers),
    }
}

fn zones() -> BenchTask {
    let call = |zone: &&'static str| {
        ("time", "convert_time", json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": zone}))
    };
    BenchTask {
        about: "a time in 10 time zones",
        wanted: &[("convert a time between time zones", "time", "convert_time")],
        turns: vec![fixed_turn(ZONES.iter().map(call).collect())],
        script: format!(
            "const zones = {};\n\
             const times = await Promise.all(zones.map((target_timezone) =>\n  \
               tools.time.convert_time({{ source_timezone: \"UTC\", time: \"12:00\", target_timezone }})));\n\
             return times.filter((time) => /T\\d\\d:\\d\\d/.test(JSON.stringify(time))).length;",
            json!(ZONES)
        ),
        answer: ZONES.len().into(),
    }
}

fn one_file(place: &str) -> BenchTask {
    let path = format!("{place}/files/note.txt");
    BenchTask {
        about: "one short file",
        wanted: &[("read the text of a file on disk", "filesystem", "read_text_file")],
        turns: vec![fixed_turn(vec![("filesystem", "read_text_file", json!({"path": path}))])],
        script: format!("return (await tools.filesystem.read_text_file({{ path: {path:?} }})).content;"),
        answer: "There are 42 apples.\n".into(),
    }
}
