/// Why a case ends before its last line.
enum CaseStop: Error {
  case broken(Finding)
  case skipped(String)
  case notExercised(String)
  case link(PeerError)
}
