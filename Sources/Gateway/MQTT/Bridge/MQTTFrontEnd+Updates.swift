import AttoEventLoop
import AttoGateway
import AttoText

/// Updates of devices: requests, and how far they are.
extension MQTTFrontEnd {
  /// Publishes how far updates are, until the task is cancelled.
  func followUpdates(_ hub: Hub) async {
    for await batch in await hub.updateNews() {
      for progress in batch.elements { publish(progress) }
    }
  }

  /// Publishes it again: the broker may have lost it.
  func publishUpdates() {
    for progress in hub?.assumeIsolated({ $0.updateProgress }) ?? [] { publish(progress) }
  }

  private func publish(_ progress: UpdateProgress) {
    // What is not configured any more has no topics.
    guard sessions[progress.device] != nil else { return }
    var members: [(name: String, value: JSON)] = [
      ("state", .string(progress.stage.rawValue)), ("file", .string(progress.file)),
    ]
    if let version = progress.version { members.append(("version", .string(version))) }
    if let installed = progress.installed { members.append(("installed", .string(installed))) }
    members += [
      ("offset", .integer(progress.offset)), ("size", .integer(progress.size)),
      ("percent", .integer(progress.percentage)),
    ]
    if let problem = progress.problem { members.append(("error", .string(problem))) }
    members += [("time", .string(clock.now().text)), ("via", .string(gateway))]
    publish(names.progress(of: progress.device), JSON.object(members).octets)
  }
}
