//! Skills (SEP-2640): the lists and directories of skills. Their files are resources.
//!
//! Everything comes from the listings of the sources, so no file is read before a client asks for it.

use gatehouse_core::{Catalog, names::quoted, skill::Skill};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        DIRECTORY_MIME_TYPE, GetSkillRequestMethod, GetSkillRequestParams, GetSkillResult, JsonObject,
        ListSkillsRequestMethod, ListSkillsResult, PaginatedRequestParams,
        ReadResourceDirectoryRequestMethod, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
        Resource, SKILLS_EXTENSION_ID, ServerCapabilities,
    },
    service::RequestContext,
};
use serde_json::Value;

use super::{interactive_request::cache_hints, resource_requests::one_page};
use crate::{
    serve::{handler::Handler, lists::ListKind},
    skills,
};

/// Adds the extension to the capabilities of a preset with skills.
pub(crate) fn declare_skills(capabilities: &mut ServerCapabilities) {
    let settings = JsonObject::from_iter([("directoryRead".to_owned(), Value::Bool(true))]);
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(SKILLS_EXTENSION_ID.to_owned(), settings);
}

/// Whether the preset can have skills. Servers count: they list skills only after a client has declared the extension.
pub(crate) fn has_skills(catalog: &Catalog) -> bool {
    let resources = &catalog.resources_and_prompts;
    resources.skills().next().is_some() || resources.has_servers() || catalog.awaits_listings()
}

impl Handler {
    pub(crate) async fn skills(
        &self,
        page: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let catalog = self.catalog_if::<ListSkillsRequestMethod>(context, has_skills).await?;
        one_page(page)?;
        let skills = catalog.resources_and_prompts.skills().filter_map(skills::to_mcp).collect();
        self.record_listed(ListKind::Resources, &catalog);
        let mut result = ListSkillsResult::with_all_items(skills);
        (result.ttl_ms, result.cache_scope) = cache_hints(context, catalog.list_ttl);
        Ok(result)
    }

    pub(crate) async fn skill(
        &self,
        request: GetSkillRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let catalog = self.catalog_if::<GetSkillRequestMethod>(context, has_skills).await?;
        let mut skills = catalog.resources_and_prompts.skills();
        let skill = skills.find(|skill| skill.uri == request.uri).and_then(skills::to_mcp);
        let unknown = || {
            let uri = quoted(&request.uri, 256);
            ErrorData::invalid_params(format!("unknown skill: '{uri}'. List the skills again."), None)
        };
        skill.map(GetSkillResult::new).ok_or_else(unknown)
    }

    pub(crate) async fn resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        let catalog = self.catalog_if::<ReadResourceDirectoryRequestMethod>(context, has_skills).await?;
        if request.cursor.is_some() {
            one_page(Some(PaginatedRequestParams::default().with_cursor(request.cursor)))?;
        }
        let mut skills = catalog.resources_and_prompts.skills();
        let directory = skills.find_map(|skill| Some((skill, skill.directory(&request.uri)?)));
        let Some((skill, entries)) = directory else {
            let uri = quoted(&request.uri, 256);
            return Err(ErrorData::invalid_params(format!("not a directory of a skill: '{uri}'"), None));
        };
        let entries = entries.into_iter().map(|(uri, is_folder)| entry(skill, uri, is_folder)).collect();
        let mut result = ReadResourceDirectoryResult::with_all_items(entries);
        (result.ttl_ms, result.cache_scope) = cache_hints(context, catalog.list_ttl);
        Ok(result)
    }
}

fn entry(skill: &Skill, uri: String, is_folder: bool) -> Resource {
    let name = uri.rsplit('/').next().unwrap_or_default().to_owned();
    let size = skill.file(&uri).map(|file| file.size);
    let mut entry = Resource::new(uri, name);
    if is_folder {
        entry.mime_type = Some(DIRECTORY_MIME_TYPE.to_owned());
    }
    entry.size = size;
    entry
}
