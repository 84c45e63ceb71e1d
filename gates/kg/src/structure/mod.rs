//! `get_page_structure`: what a page of each type must hold, with a skeleton to copy.
//!
//! The texts are tables, one file a type, so that the guide in the reply's text, the sections in its
//! data and the skeleton can't disagree. Nothing here checks a page: `kg_index` takes pages that follow
//! no guide, too.

mod environment;
mod heuristic;
mod implementation;
mod principle;
mod workflow;

use gatehouse_sdk::{Call, Fault, Reply, Tool, knowledge::PageType};
use gatehouse_wiki::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Params;

struct Guide {
    kind: Kind,
    /// Folder of the wiki that holds such pages.
    folder: &'static str,
    /// What such a page is.
    what: &'static str,
    /// How to tell that another type is meant.
    unless: &'static str,
    /// A name to show in the skeleton.
    example: &'static str,
    /// Sources to show in the skeleton.
    sources: &'static str,
    /// In the order they stand on the page.
    sections: &'static [Section],
    links: &'static [LinkRule],
}

// One section of a page. Not a doc comment, nor are the others here: agents would pay for it in each list of tools.
#[derive(Serialize, JsonSchema)]
struct Section {
    // With its equals signs.
    heading: &'static str,
    belongs: &'static str,
    leave_out: &'static str,
    /// What to copy, below the heading.
    #[serde(skip)]
    skeleton: &'static str,
}

// A link that such a page declares, as wiki text.
#[derive(Serialize, JsonSchema)]
struct LinkRule {
    link: &'static str,
    rule: &'static str,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The type of page you are about to write.
    page_type: Kind,
}

fn guide(kind: Kind) -> &'static Guide {
    match kind.0 {
        PageType::Principle => &principle::GUIDE,
        PageType::Implementation => &implementation::GUIDE,
        PageType::Environment => &environment::GUIDE,
        PageType::Heuristic => &heuristic::GUIDE,
        PageType::Workflow => &workflow::GUIDE,
    }
}

#[derive(Serialize, JsonSchema)]
struct StructureData {
    /// The type.
    page_type: Kind,
    /// Folder of the wiki that holds such pages.
    folder: &'static str,
    /// What such a page is.
    what: &'static str,
    /// The sections it must have, in order.
    sections: &'static [Section],
    /// The links it declares.
    links: &'static [LinkRule],
    /// A page to copy and fill in.
    skeleton: String,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("get_page_structure")
        .title("How to write a page")
        .description(|_| {
            "Learn what a wiki page of one type must hold. Use it before writing a page. Returns each \
             section, what belongs in it and what does not, the links to declare, and a skeleton to copy. \
             Next: kg_index writes the page."
        })
        .idempotent()
        .output::<StructureData>()
        .run(|_: &Call<Params>, args: Args| -> Result<Reply, Fault> {
            let guide = guide(args.page_type);
            let Guide { kind, folder, what, sections, links, .. } = *guide;
            let skeleton = skeleton(guide);
            let data = StructureData { page_type: kind, folder, what, sections, links, skeleton };
            Reply::markdown(text(guide)).structured(&data)
        })
}

/// What holds for pages of every type.
const HEADER: &str = "\
A page begins with its heading, `# Type: Name`, and a header table:
- `[[source::Kind|Title|URL]]`, one for each place the knowledge comes from. Kind is Repo, Paper or Doc. \
Name what you have read, not what might exist.
- `[[domain::Subject]]`, two to four. Use the subjects that other pages use, or searches by domain miss yours.
- `[[last_updated::YYYY-MM-DD HH:MM GMT]]`, when the page was last checked against its sources.

The file's name without its ending is the page's id. Write `_` for spaces and begin with the project, so \
that two projects can both have a page on \"Configuration\".";

fn text(guide: &Guide) -> String {
    let name = guide.kind.name();
    let mut out = format!("# How to write a page of type {name}\n\n{}\n\n{}\n", guide.what, guide.unless);
    out += &format!("\n## File and header\n\nThe file is `{}/<Name>.md`. {HEADER}\n", guide.folder);
    out += "\n## Sections\n\nAll of them, in this order.\n";
    for section in guide.sections {
        let Section { heading, belongs, leave_out, .. } = section;
        out += &format!("\n**`{heading}`**\n- Belongs here: {belongs}\n- Leave out: {leave_out}\n");
    }
    out += "\n## Links\n\nA link is `[[edge::Type:Name]]` with the id of a page that exists.\n\n";
    for LinkRule { link, rule } in guide.links {
        out += &format!("- `{link}`: {rule}\n");
    }
    out + &format!("\n## Skeleton\n\n````mediawiki\n{}````\n", skeleton(guide))
}

fn skeleton(guide: &Guide) -> String {
    let mut out = format!(
        "# {}: {}\n\n{{| class=\"wikitable\"\n|-\n! Knowledge Sources\n|\n{}\n|-\n! Domains\n\
         | [[domain::First_Subject]], [[domain::Second_Subject]]\n|-\n! Last Updated\n\
         | [[last_updated::2026-01-31 12:00 GMT]]\n|}}\n",
        guide.kind.name(),
        guide.example,
        guide.sources,
    );
    for Section { heading, skeleton, .. } in guide.sections {
        out += &format!("\n{heading}\n{}\n", skeleton.trim_end());
    }
    out
}
