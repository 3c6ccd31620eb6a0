/** Public API of the engine, for the command line and the workers. */
export { auditPipeline } from './auditPipeline.ts'
export { applyPlan } from './applyPlan.ts'
export { cancel, executeRun, planPipeline, runPipeline } from './run.ts'
export { rerun } from './rerun.ts'
export type { RunRequest } from './claimDestination.ts'
export { explainKey } from './explain.ts'
export type { Story, StoryEvent } from './story.ts'
export { listRuns, loadRejects, loadRun, runNumber, type StoredReject, type StoredRun } from './history.ts'
