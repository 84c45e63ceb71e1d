//! Reads parts of texts from the blocks that contain them.

use gatehouse_core::{
    outcome::Fault,
    ports::artifacts::{ArtifactPart, ArtifactSlice, TextRange},
};

use super::{
    ArtifactStore, cpu,
    engine::{ArtifactSpan, OwnerScope, PackedText},
    pointer, unknown_artifact,
};

impl ArtifactStore {
    pub(super) async fn part(
        &self,
        scope: &OwnerScope,
        id: &str,
        part: &ArtifactPart,
    ) -> Result<ArtifactSlice, Fault> {
        let pointer = match part {
            ArtifactPart::Characters(window) => {
                return self.window(scope, id, *window, WindowUnit::Characters).await;
            }
            ArtifactPart::Lines(window) => return self.window(scope, id, *window, WindowUnit::Lines).await,
            ArtifactPart::Whole => None,
            ArtifactPart::Pointer(pointer) => Some(pointer.clone()),
        };
        let stored = self.load_text(scope, id, ArtifactSpan::Whole).await?;
        let work = move || {
            let mut text = stored.full_text()?;
            if let Some(pointer) = pointer {
                let value = pointer::find(&text, &pointer)?;
                text.truncate(value.end);
                text.drain(..value.start);
            }
            let total = text.chars().count() as u64;
            Ok(ArtifactSlice { text, total, next: None })
        };
        cpu(work).await
    }

    async fn load_text(&self, scope: &OwnerScope, id: &str, span: ArtifactSpan) -> Result<PackedText, Fault> {
        self.engine.read(scope, id, span).await?.ok_or_else(|| unknown_artifact(id))
    }

    async fn window(
        &self,
        scope: &OwnerScope,
        id: &str,
        window: TextRange,
        unit: WindowUnit,
    ) -> Result<ArtifactSlice, Fault> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let (from, to) = (number(window.offset), number(window.offset.saturating_add(window.count)));
        let stored = self.load_text(scope, id, unit.span(from, to)).await?;
        let total = unit.total(&stored);
        let (from, to) = (from.min(total), to.min(total));
        let text =
            cpu(move || if from == to { Ok(String::new()) } else { unit.cut(&stored, from, to) }).await?;
        let positive = |value: i64| u64::try_from(value).unwrap_or(0);
        Ok(ArtifactSlice { text, total: positive(total), next: (to < total).then(|| positive(to)) })
    }
}

#[derive(Debug, Clone, Copy)]
enum WindowUnit {
    Characters,
    Lines,
}

impl WindowUnit {
    fn span(self, from: i64, to: i64) -> ArtifactSpan {
        match self {
            Self::Characters => ArtifactSpan::Characters(from, to),
            Self::Lines => ArtifactSpan::Lines(from, to),
        }
    }

    fn total(self, text: &PackedText) -> i64 {
        match self {
            Self::Characters => text.characters,
            Self::Lines => text.lines,
        }
    }

    fn cut(self, text: &PackedText, from: i64, to: i64) -> Result<String, Fault> {
        match self {
            Self::Characters => text.characters(from, to),
            Self::Lines => text.lines(from, to),
        }
    }
}
