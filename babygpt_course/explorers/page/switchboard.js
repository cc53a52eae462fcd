// An explorer of a trained model that may have switches among its controls, and trials in its panel.

import { explorerWith } from "../../../babygpt_live/page/explorer.js";
import { addSwitches, TrialsView } from "./switches.js";

export default explorerWith(addSwitches, { trials: TrialsView });
