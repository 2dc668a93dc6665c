internal import Atto
import Foundation

extension PublishingEngine {
  func publishChannel(isEncrypted: Bool) {
    guard let adapter = station?.adapter else { return }
    Task { @RadioLoop [weak self] in
      do throws(RadioError) {
        let published = try await adapter.publishChannel(requiresEncryption: isEncrypted)
        self?.publish(published)
      } catch {
        let mapped = Carried(ErrorMapping.channel(error))
        self?.post { manager in
          manager.delegate?.peripheralManager(
            manager, didPublishL2CAPChannel: 0, error: mapped.content)
        }
      }
    }
  }

  private func publish(_ published: PublishedChannel) {
    // Released, it is not published any more.
    guard station?.state == .poweredOn else { return }
    let psm = published.psm
    channels[psm] = published
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
    let made = Carried(CBL2CAPChannel(peer: central, channel))
    post { manager in
      manager.delegate?.peripheralManager(manager, didOpen: made.content, error: nil)
    }
  }

  func unpublishChannel(_ psm: CBL2CAPPSM) {
    let wasPublished = channels.removeValue(forKey: psm)
    wasPublished?.stop()
    let error = wasPublished == nil ? CBError(.invalidParameters) : nil
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
