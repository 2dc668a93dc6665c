import Atto
import AttoCommandLine
import AttoFormats
import AttoGATT

/// A case of a transcript, with the profile that its server must serve.
struct PlayedCase: Sendable {
  let test: Transcript.Case
  /// The name of the profile; nil if the case names none.
  let profile: String?
  /// The profile's file, which lies beside the transcript.
  fileprivate let file: String?

  init(_ test: Transcript.Case, profile: String?, in transcript: String) {
    self.test = test
    self.profile = profile
    let folder = transcript.lastIndex(of: "/").map { transcript[...$0] } ?? ""
    file = profile.map { folder + $0 }
  }
}

/// Finds out whether a server serves the profiles of transcripts, so that a wrong server is reported
/// once, and not for each case.
enum ServedProfiles {
  /// The cases that can be played. A profile counts as served if most of its services are there: the
  /// cases report the rest. Cases without a profile that can be read are kept, and so are all cases if
  /// the server cannot be discovered.
  ///
  /// - Throws: `CheckFailure` if the server serves none of the profiles.
  static func playable(
    _ cases: [PlayedCase], at endpoint: Endpoint, on loop: Loop
  ) async throws -> [PlayedCase] {
    let files = Set(cases.compactMap(\.file))
    var wanted: [String: [ServiceDefinition]] = [:]
    for file in files {
      if let profile = try? await Profile.read(file, on: loop), let layout = try? profile.layout() {
        // Many servers have the generic services at the same handles.
        wanted[file] = layout.services.filter {
          $0.isPrimary && $0.uuid != .genericAccess && $0.uuid != .genericAttribute
        }
      }
    }
    if case .descriptor = endpoint { return cases }
    guard !wanted.isEmpty, let served = await discover(endpoint, on: loop) else { return cases }
    let absent = wanted.filter { !isServed($0.value, by: served) }.keys
    guard !absent.isEmpty else { return cases }
    let kept = cases.filter { !absent.contains($0.file ?? "") }
    let names = Set(cases.filter { absent.contains($0.file ?? "") }.compactMap(\.profile)).sorted()
    let message =
      "the peer does not serve \(names.alternatives):"
      + " \(Shown.count(cases.count - kept.count, "case")) not played"
    guard !kept.isEmpty else {
      throw CheckFailure(message: message, hint: "--profile NAME selects the cases for one profile")
    }
    Terminal.note("atto play: \(message)")
    return kept
  }

  private static func isServed(_ services: [ServiceDefinition], by peer: [Service]) -> Bool {
    let found = services.count { service in
      peer.contains { $0.uuid == service.uuid && $0.handle == service.handle ?? $0.handle }
    }
    return found * 2 >= services.count
  }

  /// The peer's services; nil if they cannot be discovered.
  private static func discover(_ endpoint: Endpoint, on loop: Loop) async -> [Service]? {
    var options = ConnectionOptions()
    (options.connectTimeout, options.procedureTimeout) = (.seconds(5), .seconds(10))
    let connection = try? await Connection.connect(to: endpoint, options: options, loop: loop)
    defer { connection?.close() }
    return try? await connection?.perform(DiscoverPrimaryServices())
  }
}
