internal import Atto
import Foundation

/// A PSM that is published, and what was opened there.
struct ChannelPublication {
  let published: PublishedChannel
  var pipes: [WeakReference<ChannelPipe>] = []

  /// No more channels, and an end to those that there are, as on Apple's systems.
  @RadioLoop func end() {
    published.stop()
    for pipe in pipes { pipe.object?.endNow() }
  }
}

// Channels that centrals open. Their publication ends with the power of the radio, and is not
// restored: neither Apple's dictionary nor a PSM, which is assigned anew, would have a place for it.

extension PublishingEngine {
  func publishChannel(isEncrypted: Bool) {
    guard let station, station.state == .poweredOn, let adapter = station.adapter else {
      return notPublished(CBError(.operationCancelled))
    }
    Task { @RadioLoop [weak self] in
      do throws(RadioError) {
        let published = try await adapter.publishChannel(requiresEncryption: isEncrypted)
        self?.publish(published)
      } catch {
        self?.notPublished(ErrorMapping.channel(error))
      }
    }
  }

  private func notPublished(_ error: any Error) {
    let carried = Carried(error)
    post { manager in
      manager.delegate?.peripheralManager(
        manager, didPublishL2CAPChannel: 0, error: carried.content)
    }
  }

  private func publish(_ published: PublishedChannel) {
    // Released, it is not published any more.
    guard !isShutDown, station?.state == .poweredOn else {
      return notPublished(CBError(.operationCancelled))
    }
    let psm = published.psm
    channels[psm] = ChannelPublication(published: published)
    post { manager in
      manager.delegate?.peripheralManager(manager, didPublishL2CAPChannel: psm, error: nil)
    }
    let opened = published.channels
    Task { @RadioLoop [weak self] in
      for await channel in opened { self?.opened(channel) }
    }
  }

  /// A central has opened a channel.
  private func opened(_ channel: Channel) {
    guard let host = station?.host, let client = host.client(at: channel.peer),
      let central = central(client)
    else {
      // Let go, it closes.
      Misuse.log("\(channel.peer) opened a channel and is not served: closed")
      return
    }
    // One that was on its way when the PSM was unpublished is closed as those that stood.
    guard channels[channel.psm] != nil else { return }
    let made = CBL2CAPChannel(peer: central, channel)
    channels[channel.psm]?.pipes.removeAll { $0.object == nil }
    channels[channel.psm]?.pipes.append(WeakReference(made.pipe))
    let carried = Carried(made)
    post { manager in
      manager.delegate?.peripheralManager(manager, didOpen: carried.content, error: nil)
    }
  }

  func unpublishChannel(_ psm: CBL2CAPPSM) {
    let publication = channels.removeValue(forKey: psm)
    publication?.end()
    tellUnpublished(psm, publication == nil ? CBError(.invalidParameters) : nil)
  }

  /// The radio is not on any more.
  func unpublishAll() {
    let all = channels
    channels = [:]
    for (psm, publication) in all.sorted(by: { $0.key < $1.key }) {
      publication.end()
      tellUnpublished(psm, CBError(.operationCancelled))
    }
  }

  private func tellUnpublished(_ psm: CBL2CAPPSM, _ error: CBError?) {
    post { manager in
      manager.delegate?.peripheralManager(manager, didUnpublishL2CAPChannel: psm, error: error)
    }
  }

  func wish(_ latency: CBPeripheralManagerConnectionLatency, for client: ClientID) {
    guard let station, let kernel = station.adapter as? KernelAdapter,
      let peer = station.host.address(of: client)
    else { return }
    let interval: ClosedRange<UInt16> =
      switch latency {
      case .low: 12...24
      case .medium: 24...48
      case .high: 80...160
      }
    let wished = station.host.wish(
      PreferredConnectionParameters(interval: interval, supervisionTimeout: 400), of: peer)
    Task { @RadioLoop in
      do throws(RadioError) {
        try await kernel.loadConnectionParameters(wished)
      } catch {
        Misuse.log("the latency wished for \(peer) was refused: \(error)")
      }
    }
  }
}
