//! Word lists for checking a model's sentences.

pub(super) const PLAIN: &str = "\
    a about according across against along also although am among an and another appear appears are around as \
    at be because been being besides between beyond both but by came can cause caused causes come comes \
    contain contained containing contains did do does done due during either for found from further given gives \
    had has have having he hence her here hers him his how however i in include included includes including indicate \
    indicated indicates into is it its itself like list listed lists mention mentioned mentions my named of on onto or \
    our out per report reported reports result results said same say says see seen show showed shown shows since so \
    some still such than that the their them themselves then there these they this those though through thus to together \
    too toward towards upon via was we were what when where whereas which while who whom whose why \
    with within would";

/// Claims about quantities or totals: negations, quantifiers and comparisons. Superlatives are also recognized by their
/// ending.
pub(super) const CLAIMS: &str = "\
    no not none never nothing nobody nowhere neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent wont \
    hasnt havent hadnt couldnt wouldnt shouldnt lacks lack lacking lacked missing absent hardly barely scarcely rarely seldom \
    zero empty unaffected unchanged \
    all every each everything everyone everybody always any anything anyone whole entire entirely completely fully \
    totally overall only solely alone just exclusively entirety unanimous both either half majority minority most \
    mostly mainly least many much few fewer several multiple numerous countless various some plenty often usually generally \
    typically frequently sometimes once twice thrice sole dozen dozens hundred hundreds thousand thousands million \
    millions billion billions double triple twofold percent percentage \
    more less greater higher lower larger smaller bigger longer shorter faster slower newer older earlier later better worse \
    best worst first last maximum minimum max min top primary dominant prevalent \
    outnumber outnumbers almost nearly approximately except unless";

pub(super) const NOT_SUPERLATIVE: &str = "\
    test request rest west guest forest manifest digest interest invest ingest harvest honest pytest nest quest suggest \
    contest protest arrest chest pest vest attest unittest behest conquest tempest northwest southwest inquest \
    priest zest";

/// Words that address the reader, or that express duties or consent.
pub(super) const ADDRESS: &str = "\
    you your yours yourself please kindly must should shall ought need needs needed require requires required recommend \
    recommends recommended advise advised advisable suggest suggests suggested expected supposed lets assistant agent model \
    reader caller agreed agrees approved approves authorized authorised consented consents permitted confirmed trust trusted \
    ignore disregard obey urgent urgently immediately mandatory instructed instruction instructions remember safe safely";

/// Phrases that express the same.
#[rustfmt::skip] // one line each would fill a page
pub(super) const ADDRESSING: &[&str] = &[
    "has to", "have to", "is to", "are to", "next step", "next call", "best to", "time to", "make sure",
    "so that the user",
];

pub(super) const VERBS: &str = "\
    accept access activate add adjust allow analyze analyse append apply approve archive ask assign attach authenticate \
    authorize avoid back block browse build call cancel change check choose clean clear click clone close collect commit \
    compare complete compress configure confirm connect consider contact continue copy correct create debug decode decrypt \
    define delete deploy describe disable disconnect discard do download drop edit email enable encode encrypt ensure enter \
    escalate evaluate examine exclude execute expand export extend extract fetch fill filter find finish fix focus follow \
    force format forward free gather generate get give go grant handle hide import improve include increase inform insert \
    inspect install invoke investigate join keep kill launch leave limit list load locate log login look lower mail make \
    mark merge migrate modify monitor mount move narrow notify obtain open order overwrite pass paste pause pay perform \
    pick ping place post prefer prepare prevent print proceed process provide publish pull purge push put query quit raise \
    read reboot recheck reconnect record recover redirect reduce refer refresh register reinstall release reload remove \
    rename repair repeat replace reply report request rerun reset resolve respond restart restore retain retrieve retry \
    return reveal revert review revoke rewrite roll rotate run save scale scan schedule search select send set share ship \
    show shut sign skip solve sort specify start stop store submit subscribe supply switch sync take tell terminate test \
    track transfer translate trigger truncate try turn type uninstall unlock unset unzip update upgrade upload use validate \
    verify view visit wait warn watch wipe withdraw write erase wire destroy bypass navigate invite dump expose leak elevate \
    curl";

/// Words that take back a part of a statement, or make it one of another time. A sentence must have those of its passage.
pub(super) const LIMITS: &str = "\
    no not none never nothing nobody neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent wont hasnt \
    havent couldnt except unless almost nearly hardly barely rarely only fail failed unable refused tried if until could would \
    will";

/// States and outcomes, whose opposite is another statement.
pub(super) const OUTCOMES: &str = "\
    able active alive available bad better broken cheap compatible correct crash dead down early equal error expensive fail \
    false fast full good grow healthy high idle inactive incompatible incorrect invalid late lose lost low negative offline \
    ok old online open pass pending positive present private public ready right rise running safe secure shrink slow stable \
    succeed success successful supported true unable unavailable unhealthy unknown unsafe unstable unsupported up valid weak \
    win won wrong young drop fall gain exceed crash die kill fell rose ran grew shrank began broke panic refuse reject deny expire";

pub(super) const BEFORE_VERBS: &str = "\
    now next then first second third finally afterwards after also always never just simply only dont not again later \
    otherwise instead therefore to and or but so";

/// Words after which `to` and a verb report an event rather than give an instruction: `failed to open`.
pub(super) const TRIED: &str = "\
    fail fails failed failure unable refused refuses tried tries trying attempt attempts attempted attempting able used \
    time timeout error errors unavailable started starts began begins seems appears continues";
