//! `list_repositories_with_navigation`: lists the repositories and how to search them.

use gatehouse_sdk::{Call, Fault, Reply, Tool, documents};
use gatehouse_wiki::{code, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Params;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Include the navigation guides (default true); without them the list is short.
    include_navigation: Option<bool>,
    /// Only the repository with this name.
    #[schemars(length(max = 256))]
    repository: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct RepositoryList {
    repositories: Vec<RepositoryEntry>,
    /// Repositories whose guides were omitted to stay within the budget.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    guides_left_out: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct RepositoryEntry {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    file_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    navigation_guide: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("list_repositories_with_navigation")
        .title("List document repositories")
        .description(|_| {
            "List the document repositories, each with a guide to its contents and useful queries. Call it first, \
            then mfai_document_retrieval with a repository's name."
        })
        .idempotent()
        .output::<RepositoryList>()
        .run(list)
}

fn list(call: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let guides = args.include_navigation.unwrap_or(true);
    let mut repositories = documents::repositories(guides)?;
    if let Some(requested) = &args.repository {
        let names: Vec<String> = repositories.iter().map(|r| one_line(&r.name, 100)).take(20).collect();
        repositories.retain(|repository| repository.name.eq_ignore_ascii_case(requested.trim()));
        if repositories.is_empty() {
            let fault = Fault::not_found(format!("there is no repository '{}'", one_line(requested, 100)));
            return Err(fault.hint(format!("There are: {}.", names.join(", "))));
        }
    }
    let mut remaining = call.params.budget();
    let mut guides_left_out = Vec::new();
    let mut rows = Vec::new();
    for repository in repositories {
        let guide = match repository.navigation_guide {
            None => None,
            Some(guide) => {
                let tokens = call.params.count(&guide)?;
                let fits = tokens <= remaining;
                remaining -= if fits { tokens } else { 0 };
                if !fits {
                    guides_left_out.push(repository.name.clone());
                }
                fits.then_some(guide)
            }
        };
        rows.push(RepositoryEntry {
            id: repository.id,
            name: repository.name,
            url: repository.url,
            commit: repository.commit,
            file_count: repository.file_count,
            navigation_guide: guide,
            repository_type: repository.kind,
            created_at: repository.created_at,
            updated_at: repository.updated_at,
        });
    }
    let repository_list = RepositoryList { repositories: rows, guides_left_out };
    Reply::markdown(render(&repository_list)).structured(&repository_list)
}

fn render(repository_list: &RepositoryList) -> String {
    if repository_list.repositories.is_empty() {
        return "There are no repositories yet. The host's operator can add one with `gatehouse docs add <folder>`.\n"
            .into();
    }
    let mut out = format!("# Repositories ({})\n", repository_list.repositories.len());
    for row in &repository_list.repositories {
        let facts = [
            row.repository_type.clone(),
            Some(format!("{} documents", row.file_count)),
            row.url.clone(),
            row.commit.as_ref().map(|commit| format!("at {}", commit.get(..12).unwrap_or(commit))),
            row.updated_at.as_ref().map(|date| format!("indexed {date}")),
        ];
        let facts: Vec<String> = facts.iter().flatten().map(|fact| one_line(fact, 200)).collect();
        out += &format!("\n## {}\n\n{}\n", one_line(&row.name, 100), facts.join(" · "));
        if let Some(guide) = &row.navigation_guide {
            out += &format!("\n{}\n", nest_headings(guide.trim()));
        }
    }
    if !repository_list.guides_left_out.is_empty() {
        let names: Vec<String> =
            repository_list.guides_left_out.iter().map(|name| code(&one_line(name, 100))).collect();
        out += &format!(
            "\nGuides left out to stay within the budget: {}. Name one as `repository` to read its guide.\n",
            names.join(", ")
        );
    }
    out
}

fn nest_headings(guide: &str) -> String {
    let line = |line: &str| if line.starts_with('#') { format!("##{line}\n") } else { format!("{line}\n") };
    guide.lines().map(line).collect::<String>().trim_end().to_owned()
}
