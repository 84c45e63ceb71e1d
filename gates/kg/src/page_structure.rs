//! `get_page_structure`: describes the required content of a page of each type, with a skeleton to copy.
//!
//! Each type has one file, which provides the guide in the text, the sections in the data, and the skeleton, so they
//! agree. Nothing checks pages against a guide; `kg_index` accepts pages that follow none.

use gatehouse_sdk::{Call, Fault, Reply, Tool, knowledge::PageType};
use gatehouse_wiki::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Params;

/// A parsed guide file. `----` separates its parts: description; how to recognize that another type fits; example name
/// and sources; links, one per line; then each section (heading, content, content to leave out, text to copy).
#[derive(Serialize, JsonSchema)]
struct PageGuide {
    page_type: Kind,
    /// Wiki folder of such pages.
    folder: String,
    /// Description of such pages.
    what: &'static str,
    #[serde(skip)]
    not_if: &'static str,
    /// Required sections, in order.
    sections: Vec<PageSection>,
    /// Links to declare.
    links: Vec<LinkRule>,
    /// A page to copy and fill in.
    skeleton: String,
}

// No doc comments here: agents would pay for them in each list of tools.
#[derive(Serialize, JsonSchema)]
struct PageSection {
    heading: &'static str,
    belongs: &'static str,
    leave_out: &'static str,
    #[serde(skip)]
    skeleton: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct LinkRule {
    link: String,
    rule: &'static str,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Type of the page to write.
    page_type: Kind,
}

impl PageGuide {
    fn for_kind(kind: Kind) -> Self {
        let text = match kind.0 {
            PageType::Principle => include_str!("page_structure/principle.txt"),
            PageType::Implementation => include_str!("page_structure/implementation.txt"),
            PageType::Environment => include_str!("page_structure/environment.txt"),
            PageType::Heuristic => include_str!("page_structure/heuristic.txt"),
            PageType::Workflow => include_str!("page_structure/workflow.txt"),
        };
        let mut parts = text.trim_end().split("\n----\n");
        let mut next = || parts.next().unwrap_or_default();
        let (what, not_if, header) = (next(), next(), next());
        let (example, sources) = first_line(header);
        let link = |line: &'static str| {
            let (link, rule) = line.split_once("]]: ")?;
            Some(LinkRule { link: format!("{link}]]"), rule })
        };
        let links = next().lines().filter_map(link).collect();
        let section = |part| {
            let (heading, rest) = first_line(part);
            let (belongs, rest) = first_line(rest);
            let (leave_out, skeleton) = first_line(rest);
            PageSection { heading, belongs, leave_out, skeleton }
        };
        let sections: Vec<PageSection> = parts.map(section).collect();
        let folder = format!("{}s", kind.name().to_lowercase());
        let skeleton = skeleton(kind, example, sources, &sections);
        Self { page_type: kind, folder, what, not_if, sections, links, skeleton }
    }
}

fn first_line(text: &'static str) -> (&'static str, &'static str) {
    text.split_once('\n').unwrap_or((text, ""))
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("get_page_structure")
        .title("How to write a page")
        .description(|_| {
            "Get the required content of a wiki page of one type. Use it before writing a page. Returns each \
            section, what belongs in it and what does not, the links to declare, and a skeleton to copy. Next: \
            kg_index writes the page."
        })
        .idempotent()
        .output::<PageGuide>()
        .run(|_: &Call<Params>, args: Args| -> Result<Reply, Fault> {
            let guide = PageGuide::for_kind(args.page_type);
            Reply::markdown(text(&guide)).structured(&guide)
        })
}

const HEADER: &str = "\
A page begins with its heading, `# Type: Name`, and a header table:
- `[[source::Kind|Title|URL]]`, one for each place the knowledge comes from. Kind is Repo, Paper or Doc. \
Name what you have read, not what might exist.
- `[[domain::Subject]]`, two to four. Use the subjects that other pages use, or searches by domain miss yours.
- `[[last_updated::YYYY-MM-DD HH:MM GMT]]`, when the page was last checked against its sources.

The file's name without its ending is the page's id. Write `_` for spaces and begin with the project, so \
that two projects can both have a page on \"Configuration\".";

fn text(guide: &PageGuide) -> String {
    let name = guide.page_type.name();
    let mut out = format!("# How to write a page of type {name}\n\n{}\n\n{}\n", guide.what, guide.not_if);
    out += &format!("\n## File and header\n\nThe file is `{}/<Name>.md`. {HEADER}\n", guide.folder);
    out += "\n## Sections\n\nAll of them, in this order.\n";
    for section in &guide.sections {
        let PageSection { heading, belongs, leave_out, .. } = section;
        out += &format!("\n**`{heading}`**\n- Belongs here: {belongs}\n- Leave out: {leave_out}\n");
    }
    out += "\n## Links\n\nA link is `[[edge::Type:Name]]` with the id of a page that exists.\n\n";
    for LinkRule { link, rule } in &guide.links {
        out += &format!("- `{link}`: {rule}\n");
    }
    out + &format!("\n## Skeleton\n\n````mediawiki\n{}````\n", guide.skeleton)
}

fn skeleton(kind: Kind, example: &str, sources: &str, sections: &[PageSection]) -> String {
    let mut out = format!(
        "# {}: {example}\n\n{{| class=\"wikitable\"\n|-\n! Knowledge Sources\n|\n{sources}\n|-\n! Domains\n\
         | [[domain::First_Subject]], [[domain::Second_Subject]]\n|-\n! Last Updated\n\
         | [[last_updated::2026-01-31 12:00 GMT]]\n|}}\n",
        kind.name(),
    );
    for PageSection { heading, skeleton, .. } in sections {
        out += &format!("\n{heading}\n{}\n", skeleton.trim_end());
    }
    out
}
