/** Public API of the engine, for the command line and the workers. */
export { auditPipeline } from './auditPipeline.ts'
export { applyPlan, cancel, executeRun, planPipeline, rerun, runPipeline, type RunRequest } from './run.ts'
export { explainKey } from './explain.ts'
export type { Story, StoryEvent } from './story.ts'
export { listRuns, loadRejects, loadRun, runNumber, type StoredReject, type StoredRun } from './history.ts'
