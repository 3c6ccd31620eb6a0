/** The engine's face: what the command line and the workers call. */
export { auditPipeline } from './auditPipeline.ts'
export { applyPlan, cancel, executeRun, planPipeline, rerun, runPipeline, type RunRequest } from './run.ts'
export { explainKey, type Story, type StoryEvent } from './explain.ts'
export { listRuns, loadRejects, loadRun, type StoredReject, type StoredRun } from './history.ts'
